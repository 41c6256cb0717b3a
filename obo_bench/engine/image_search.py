"""Search all files of a container for copies of one of them, and for programs in directories for temporary files."""

import hashlib
import tarfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal

from obo_bench.core.peek import shown
from obo_bench.engine.cleanroom_spec import WORKSPACE
from obo_bench.engine.image_reach import Reach, path_of
from obo_bench.engine.tar_stream import Passing, all_entries, opened_file

if TYPE_CHECKING:
    from docker.models.containers import Container

_ELF = b"\x7fELF"
_STRAY_PLACES = (b"/tmp/", b"/var/tmp/", b"/dev/shm/")
_SEEDED = WORKSPACE.encode() + b"/"
_HISTORY = _SEEDED + b".git/"
_PIECE = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """The file whose copies are searched for."""

    path: str
    """Absolute path; what lies there is no copy."""
    size: int
    """Bytes."""
    sha256: str
    """Hexadecimal hash of its content."""


@dataclass(frozen=True)
class Found:
    """One file that should not be in the image."""

    kind: Literal["copy_of_reference", "stray_program"]
    """A copy, to the byte, or a program in a directory for temporary files."""
    path: str
    """Where; bytes that are not UTF-8 are escaped."""
    mode: str
    """Its permissions, in octal digits."""
    owner: str
    """uid:gid."""


def reference_of(container: "Container", path: str, passing: Passing) -> Wanted | None:
    """Return the regular file at `path`, None when there is none."""
    with opened_file(container, path, passing) as stream:
        return Wanted(path, *_measured(b"", stream)) if stream is not None else None


class ImageSearch:
    """One walk through all files."""

    def __init__(self, container: "Container", wanted: Wanted, user: str, passing: Passing) -> None:
        """Prepare the search; `user` is the uid:gid of who could read what is found."""
        self._container = container
        self._wanted = wanted
        self._passing = passing
        self._reach = Reach(user)
        self._copies: dict[bytes, tarfile.TarInfo] = {}
        self.open: list[Found] = []
        """What the user could read."""
        self.closed: list[Found] = []
        """What it could not."""
        self.files = 0
        """Regular files so far."""

    def run(self) -> None:
        """Look at every file; raises as `all_entries` does, and what `passing` raises."""
        for entry, archive in all_entries(self._container, self._passing):
            path = path_of(entry.name)
            if entry.isdir():
                self._reach.enter(path, entry)
            elif entry.isreg():
                self.files += 1
                self._look_at_file(path, entry, archive)
            elif entry.islnk():
                self.files += 1
                self._look_at_link(path, entry)

    def _look_at_file(self, path: bytes, entry: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        alike, stray = 0 < entry.size == self._wanted.size, path.startswith(_STRAY_PLACES)
        stream = archive.extractfile(entry) if alike or stray else None
        if stream is None:
            return
        begin = stream.read(len(_ELF))
        if alike and _measured(begin, stream)[1] == self._wanted.sha256:
            self._copies[path] = entry
            self._report("copy_of_reference", path, entry)
        elif stray and begin == _ELF:
            self._report("stray_program", path, entry)

    def _look_at_link(self, path: bytes, entry: tarfile.TarInfo) -> None:
        """A hard link comes without the bytes, after the first name of its file."""
        first = self._copies.get(path_of(entry.linkname))
        if first is not None:
            self._report("copy_of_reference", path, first)
        elif path.startswith(_STRAY_PLACES) and self._is_program(path):
            self._report("stray_program", path, entry)

    def _is_program(self, path: bytes) -> bool:
        with opened_file(self._container, path.decode("utf-8", "surrogateescape"), self._passing) as stream:
            return stream is not None and stream.read(len(_ELF)) == _ELF

    def _report(self, kind: Literal["copy_of_reference", "stray_program"], path: bytes, entry: tarfile.TarInfo) -> None:
        if path == self._wanted.path.encode() or path.startswith(_HISTORY):
            return
        # What is in the workspace is copied for the agent, and is its own then.
        readable = path.startswith(_SEEDED) or self._reach.can_read(path, entry)
        found = Found(kind, shown(path), f"{entry.mode & 0o7777:04o}", f"{entry.uid}:{entry.gid}")
        (self.open if readable else self.closed).append(found)


def _measured(begin: bytes, stream: IO[bytes]) -> tuple[int, str]:
    """Return size and hash of what is left of a stream, with what was read of it before."""
    digest, size = hashlib.sha256(begin), len(begin)
    while piece := stream.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()
