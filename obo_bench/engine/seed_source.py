"""Read an image's workspace without running anything of it: a container that is created, never started."""

import errno
import tarfile
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from obo_bench.engine.daemon import Engine
from obo_bench.engine.images import PLATFORM

if TYPE_CHECKING:
    from docker.models.containers import Container

REFERENCE_MOUNT = "/reference"
"""Where the reference's volume is mounted in the cleanroom."""
REFERENCE_UID = 65532
"""Owner of the protected reference: nobody that runs anything in the cleanroom."""
LARGEST_WORKSPACE = 16 * 1024**3
"""Bytes that a workspace may have; the engine sends the holes of a sparse file as zeros."""
_CHUNK = 1 << 20
_SPOOL_BYTES = 64 * 1024 * 1024


@contextmanager
def unstarted_container(
    engine: Engine, image: str, labels: dict[str, str], volume: str | None
) -> Iterator["Container"]:
    """Yield a created container of `image`, with the reference's volume mounted if named; removed afterwards."""
    from docker.types import Mount

    mounts = [Mount(REFERENCE_MOUNT, volume, type="volume")] if volume else []
    container = engine.client.containers.create(
        image, entrypoint=["true"], labels=labels, network_mode="none", mounts=mounts, platform=PLATFORM
    )
    try:
        yield container
    finally:
        container.remove(force=True)


@contextmanager
def workspace_archive(container: "Container", path: str) -> Iterator[tarfile.TarFile]:
    """Yield the directory `path` of the container as an open tar archive, spooled to disk when it is large."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        with closing(_archive_bytes(container, path)) as chunks:
            for chunk in chunks:
                spool.write(chunk)
                if spool.tell() > LARGEST_WORKSPACE:
                    raise OSError(errno.EFBIG, f"{path} of the image has more than {LARGEST_WORKSPACE} bytes")
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as archive:
            yield archive


def store_reference(container: "Container", reference: Path, name: str) -> None:
    """Put the reference into the mounted volume: owned by nobody of the cleanroom, mode 0111."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        with tarfile.open(fileobj=spool, mode="w") as archive:
            archive.addfile(_protected_entry(reference, name), _opened(reference))
        spool.seek(0)
        if not container.put_archive(REFERENCE_MOUNT, spool):
            raise OSError(f"the engine did not accept the reference for {REFERENCE_MOUNT}")


def _archive_bytes(container: "Container", path: str) -> Generator[bytes, None, None]:
    """Yield the engine's tar archive of `path`; who stops in the middle hangs up.

    The SDK's `get_archive` would keep the connection, and the engine the lock that the container's removal waits for.
    """
    client = container.client
    if client is None:
        raise AssertionError("a container of the engine has a client")
    api = client.api
    address = f"{api.base_url}/v{api.api_version}/containers/{container.id}/archive"
    with api.get(address, params={"path": path}, stream=True, timeout=api.timeout) as answer:
        answer.raise_for_status()
        yield from answer.iter_content(_CHUNK)


def _protected_entry(reference: Path, name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = reference.stat().st_size
    entry.mode = 0o111
    entry.uid = entry.gid = REFERENCE_UID
    return entry


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")
