"""Reading a tree that an untrusted program wrote and may still be writing.

Every step goes through the descriptor of the directory above and never follows a link, so that no swap of a
directory for a link can lead outside. OSErrors carry the path relative to the root in `filename`.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from obo_bench.programbench.packaging.collection_rules import WORKSPACE

CHUNK = 1 << 20
"""Bytes read at a time."""

_MAX_LINKS = 40
_MOST_OPEN = 64
"""Directories that a walk holds open at a time."""
_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_SAFE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class TreeChangedError(RuntimeError):
    """An entry became something else while it was being read; `path` is relative to the root."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed while it was being read")
        self.path = path


@dataclass(frozen=True)
class Entry:
    """One thing in the tree, as lstat saw it."""

    path: str
    """Relative to the root, `/` between the parts, undecodable bytes as surrogates."""
    name: str
    """The last part of the path."""
    directory: int
    """Descriptor of the directory that holds it; open until the walk goes on."""
    status: os.stat_result
    """The result of lstat."""

    def read_link(self) -> str:
        """Return the target of a symbolic link."""
        with _located(self.path):
            return os.readlink(self.name, dir_fd=self.directory)

    def open(self) -> tuple[int, os.stat_result]:
        """Open the regular file and return its descriptor, which the caller closes, and its present state."""
        with _located(self.path):
            descriptor = os.open(self.name, _SAFE, dir_fd=self.directory)
        status = os.fstat(descriptor)
        if os.path.samestat(status, self.status):
            return descriptor, status
        os.close(descriptor)
        raise TreeChangedError(self.path)


class _located:  # noqa: N801 - used like a function, as contextlib's own helpers are
    """Give errors the path, and turn a vanished entry into TreeChangedError; a plain class, since it runs per file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            if error.errno in _VANISHED:
                raise TreeChangedError(self.path) from error
            error.filename = self.path


def walk(root: Path, wanted: Callable[[Entry], bool]) -> Iterator[Entry]:
    """Yield every wanted entry below `root`, directories before their contents, names in byte order.

    An unwanted directory is not entered. Memory grows with the largest directory, not with the tree.
    """
    levels = _Levels()
    prefixes = [""]
    try:
        levels.enter(os.open(root, _SAFE | os.O_DIRECTORY), ".")
        while prefixes:
            descriptor, names = levels.present
            name = next(names, None)
            if name is None:
                levels.leave(prefixes.pop())
                continue
            path = prefixes[-1] + name
            with _located(path):
                entry = Entry(path, name, descriptor, os.stat(name, dir_fd=descriptor, follow_symlinks=False))
            if not wanted(entry):
                continue
            yield entry
            if stat.S_ISDIR(entry.status.st_mode):
                with _located(path):
                    levels.enter(os.open(name, _SAFE | os.O_DIRECTORY, dir_fd=descriptor), path)
                prefixes.append(path + "/")
    finally:
        levels.close()


@dataclass
class _Level:
    """A directory between the root and the present place."""

    descriptor: int | None
    """None while it is closed."""
    names: Iterator[str]
    """What of it is still to come."""
    identity: os.stat_result | None = None
    """What tells it from another directory, once it was closed."""


class _Levels:
    """The directories on the way down; only the last ones are held open, so that no tree is too deep."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    @property
    def present(self) -> tuple[int, Iterator[str]]:
        """The lowest directory's descriptor and the names that are still to come."""
        level = self._levels[-1]
        if level.descriptor is None:
            raise AssertionError("the present directory is open")
        return level.descriptor, level.names

    def enter(self, descriptor: int, path: str) -> None:
        """Go down into an open directory, which is closed in any case; raises OSError."""
        self._levels.append(_Level(descriptor, iter(())))
        with _located(path):
            self._levels[-1].names = iter(sorted(os.listdir(descriptor), key=os.fsencode))
        if len(self._levels) > _MOST_OPEN:
            above = self._levels[-_MOST_OPEN - 1]
            if above.descriptor is not None:
                above.identity = os.fstat(above.descriptor)
                os.close(above.descriptor)
                above.descriptor = None

    def leave(self, path: str) -> None:
        """Go back up from the directory `path`; raises TreeChangedError when it was moved meanwhile, and OSError."""
        below = self._levels[-1]
        above = self._levels[-2] if len(self._levels) > 1 else None
        if above is not None and above.descriptor is None and below.descriptor is not None:
            with _located(path):
                above.descriptor = os.open("..", _SAFE | os.O_DIRECTORY, dir_fd=below.descriptor)
            if above.identity is None or not os.path.samestat(os.fstat(above.descriptor), above.identity):
                raise TreeChangedError(path)
        self._levels.pop()
        if below.descriptor is not None:
            os.close(below.descriptor)

    def close(self) -> None:
        """Close what is still open."""
        while self._levels:
            descriptor = self._levels.pop().descriptor
            if descriptor is not None:
                os.close(descriptor)


def read_chunks(descriptor: int, size: int, path: str) -> Iterator[bytes]:
    """Yield the first `size` bytes of an open file (fewer if it is shorter) without moving its position."""
    offset = 0
    while offset < size:
        with _located(path):
            chunk = os.pread(descriptor, min(CHUNK, size - offset), offset)
        if not chunk:
            return
        yield chunk
        offset += len(chunk)


def resolve(root: Path, path: str) -> str | None:
    """Return where `path` leads when the links in it are followed, relative to `root`; None if it leaves the tree.

    Absolute links are read as the container reads them: below /workspace they stay inside. What a link names need
    not exist, and a loop ends at one of its links.
    """
    pending, reached, links = deque(path.split("/")), list[str](), 0
    while pending:
        part = pending.popleft()
        if part == ".." and not reached:
            return None
        if part == "..":
            reached.pop()
        elif part not in {"", "."}:
            reached.append(part)
            target = _target(root, reached) if links < _MAX_LINKS else None
            if target is None:
                continue
            links += 1
            reached.pop()
            if target.startswith("/"):
                if target != WORKSPACE and not target.startswith(f"{WORKSPACE}/"):
                    return None
                reached.clear()
                target = target.removeprefix(WORKSPACE)
            pending.extendleft(reversed(target.split("/")))
    return "/".join(reached)


def _target(root: Path, parts: list[str]) -> str | None:
    try:
        return str(root.joinpath(*parts).readlink())
    except OSError:
        return None
