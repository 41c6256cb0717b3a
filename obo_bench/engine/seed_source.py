"""Read an image's workspace without running anything of it: a container that is created, never started."""

import errno
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from obo_bench.engine.daemon import Engine
from obo_bench.engine.images import PLATFORM
from obo_bench.engine.tar_stream import engine_bytes

if TYPE_CHECKING:
    from docker.models.containers import Container

REFERENCE_MOUNT = "/reference"
"""Where the reference's volume is mounted in the cleanroom."""
REFERENCE_UID = 65532
"""Owner of the protected reference: nobody that runs anything in the cleanroom."""
LARGEST_WORKSPACE = 16 * 1024**3
"""Bytes that a workspace may have; the engine sends the holes of a sparse file as zeros."""
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
        with closing(engine_bytes(container, "archive", path)) as chunks:
            for chunk in chunks:
                spool.write(chunk)
                if spool.tell() > LARGEST_WORKSPACE:
                    raise OSError(errno.EFBIG, f"{path} of the image has more than {LARGEST_WORKSPACE} bytes")
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as archive:
            yield archive


def store_reference(container: "Container", reference: Path, name: str) -> None:
    """Put the reference into the mounted volume: owned by nobody of the cleanroom, mode 0111.

    So nobody in the cleanroom can read, copy or change the file, or look into a run of it that is under way. Who starts
    it can still make that run write out its own memory (as its tracer from the beginning, or by a library loaded before
    it): no permission of a file prevents that.
    """
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        with reference.open("rb") as content, tarfile.open(fileobj=spool, mode="w") as archive:
            archive.addfile(_protected_entry(reference, name), content)
        spool.seek(0)
        if not container.put_archive(REFERENCE_MOUNT, spool):
            raise OSError(f"the engine did not accept the reference for {REFERENCE_MOUNT}")


def _protected_entry(reference: Path, name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = reference.stat().st_size
    entry.mode = 0o111
    entry.uid = entry.gid = REFERENCE_UID
    return entry
