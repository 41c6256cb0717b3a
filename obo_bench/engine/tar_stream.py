"""The engine's tar streams: one file of a container, or all of them, without anything of the image being run."""

import io
import tarfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from docker.models.containers import Container

Passing = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Hands chunks on, or raises when enough is enough."""
_CHUNK = 1 << 20
_END = bytes(1024)
"""Two blocks of zeros end an archive (POSIX, ustar interchange format)."""
_NOT_FOUND = 404


class BrokenOff(OSError):
    """The engine ended an archive in the middle, which it does not always tell by itself."""


def engine_bytes(
    container: "Container", what: Literal["archive", "export"], path: str | None = None
) -> Generator[bytes, None, None]:
    """Yield the engine's tar archive of `path`, or with `export` of all files; who stops in the middle hangs up.

    The SDK's own calls would keep the connection, and the engine the lock that the container's removal waits for.
    """
    client = container.client
    if client is None:
        raise AssertionError("a container of the engine has a client")
    api = client.api
    address = f"{api.base_url}/v{api.api_version}/containers/{container.id}/{what}"
    with api.get(address, params={"path": path} if path else {}, stream=True, timeout=api.timeout) as answer:
        answer.raise_for_status()
        yield from answer.iter_content(_CHUNK)


@contextmanager
def opened_file(container: "Container", path: str, passing: Passing) -> Iterator[IO[bytes] | None]:
    """Yield one regular file of a container, or None where there is none."""
    from requests import HTTPError

    with closing(engine_bytes(container, "archive", path)) as chunks:
        try:
            archive = tarfile.open(fileobj=_ChunkReader(passing(chunks)), mode="r:")  # noqa: SIM115  # closed below
        except HTTPError as error:
            if error.response is None or error.response.status_code != _NOT_FOUND:
                raise
            yield None
            return
        with archive:
            entry = archive.next()
            yield archive.extractfile(entry) if entry is not None and entry.isreg() else None


def all_entries(container: "Container", passing: Passing) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Yield every file of a container with the archive to read it from, directories before what is in them.

    Raises BrokenOff, tarfile.TarError.
    """
    with closing(engine_bytes(container, "export")) as chunks:
        reader = _ChunkReader(passing(chunks))
        # Its own mode for streams would copy the files that nobody reads.
        with tarfile.open(fileobj=reader, mode="r:") as archive:
            while (entry := archive.next()) is not None:
                # It keeps what it has read, which nobody needs; an image may have a million files.
                archive.members = []  # type: ignore[attr-defined]
                yield entry, archive
        reader.skip_all()
        if reader.last != _END:
            raise BrokenOff("the engine ended the archive of the image's files in the middle")


class _ChunkReader(io.RawIOBase):
    """Makes a file of a row of chunks, which can be read and skipped but not gone back in; remembers its last bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._chunk = b""
        self._start = 0
        self._place = 0
        self.last = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        """Return how many bytes were read or skipped."""
        return self._start + self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        """Skip everything before `offset`, or to the end if that comes first; raises UnsupportedOperation to go back.

        `offset` is counted from the beginning.
        """
        if whence != io.SEEK_SET or offset < self.tell():
            raise io.UnsupportedOperation("the engine's bytes come once")
        while offset > self._start + len(self._chunk) and self._advance():
            pass
        self._place = min(offset - self._start, len(self._chunk))
        return self.tell()

    def skip_all(self) -> None:
        """Skip to the end."""
        while self._advance():
            pass

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, fewer only at the end; -1 is not supported."""
        parts, missing = [], size
        while missing > 0 and (part := self._part(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _part(self, size: int) -> bytes:
        while self._place == len(self._chunk):
            if not self._advance():
                return b""
        part = self._chunk[self._place : self._place + size]
        self._place += len(part)
        return part

    def _advance(self) -> bool:
        """Go to the beginning of the next chunk, or say that there is none and stay at the end of the last one."""
        self._place = len(self._chunk)
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self._start += len(self._chunk)
        self._chunk, self._place = chunk, 0
        self.last = (self.last + chunk[-len(_END) :])[-len(_END) :]
        return True
