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
    stack = [_list(os.open(root, _SAFE | os.O_DIRECTORY), ".")]
    prefixes = [""]
    try:
        while stack:
            descriptor, names = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(stack.pop()[0])
                prefixes.pop()
                continue
            path = prefixes[-1] + name
            with _located(path):
                entry = Entry(path, name, descriptor, os.stat(name, dir_fd=descriptor, follow_symlinks=False))
            if not wanted(entry):
                continue
            yield entry
            if stat.S_ISDIR(entry.status.st_mode):
                with _located(path):
                    stack.append(_list(os.open(name, _SAFE | os.O_DIRECTORY, dir_fd=descriptor), path))
                prefixes.append(path + "/")
    finally:
        for descriptor, _ in stack:
            os.close(descriptor)


def _list(descriptor: int, path: str) -> tuple[int, Iterator[str]]:
    try:
        with _located(path):
            return descriptor, iter(sorted(os.listdir(descriptor), key=os.fsencode))
    except BaseException:
        os.close(descriptor)
        raise


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
