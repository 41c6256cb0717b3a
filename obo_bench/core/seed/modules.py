"""Which files Python would import, and which of two files of the same module it takes.

The order is that of `importlib.machinery.FileFinder`: a package, then an extension module, source, bytecode, and last
a directory without `__init__` (a namespace package).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property


class Rank(IntEnum):
    """Forms of a module; Python takes the lowest that it finds in a directory."""

    PACKAGE_EXTENSION = 0
    PACKAGE_SOURCE = 1
    PACKAGE_BYTECODE = 2
    EXTENSION = 3
    SOURCE = 4
    BYTECODE = 5
    NAMESPACE = 6


_FORM = re.compile(
    r"(?P<stem>[^.]+)(?:(?P<extension>(?:\.(?:cpython|pypy|graalpy|abi3|cp)[^.]*)?\.(?:so|pyd))|(?P<source>\.py)|\.pyc)"
)
_PACKAGE_OFFSET = Rank.EXTENSION - Rank.PACKAGE_EXTENSION


@dataclass(frozen=True)
class Module:
    """A file or directory as Python's import system sees it."""

    parent: str
    """Directory that is searched, relative to the checkout; empty for its top."""
    name: str
    """The module's own name."""
    rank: Rank
    """Its form."""

    @property
    def importable(self) -> bool:
        """Whether the dotted name can be written in an import statement from the checkout's top."""
        return all(part.isidentifier() for part in [*filter(None, self.parent.split("/")), self.name])


def module_of(path: str) -> Module | None:
    """Return the module that the file `path` (relative, with slashes) holds, or None when Python never imports it."""
    parent, _, leaf = path.rpartition("/")
    found = _FORM.fullmatch(leaf)
    if found is None or not found["stem"].isidentifier() or parent.rpartition("/")[2] == "__pycache__":
        return None
    rank = Rank.EXTENSION if found["extension"] else Rank.SOURCE if found["source"] else Rank.BYTECODE
    if found["stem"] != "__init__":
        return Module(parent, found["stem"], rank)
    if not parent:
        return None
    above, _, package = parent.rpartition("/")
    return Module(above, package, Rank(rank - _PACKAGE_OFFSET))


class TrackedFiles:
    """The tracked files of a checkout, as `git ls-files -v -s -z` lists them."""

    def __init__(self, listing: bytes) -> None:
        self._listing = listing

    @cached_property
    def _paths(self) -> list[bytes]:
        return [entry.partition(b"\t")[2] for entry in self._listing.split(b"\0") if entry]

    def __contains__(self, path: str) -> bool:
        return next(self.starting_with(path), None) == path

    def starting_with(self, prefix: str) -> Iterator[str]:
        """Yield the tracked paths that begin with `prefix`, in git's order, which is that of their bytes."""
        wanted = prefix.encode("utf-8", "surrogateescape")
        for at in range(bisect_left(self._paths, wanted), len(self._paths)):
            if not self._paths[at].startswith(wanted):
                return
            yield self._paths[at].decode("utf-8", "surrogateescape")

    def best_rank(self, parent: str, name: str) -> Rank | None:
        """Return the form in which the tracked files alone hold the module `name` of `parent`, or None."""
        base = f"{parent}/{name}" if parent else name
        files = [path for suffix in (".", "/__init__.") for path in self.starting_with(base + suffix)]
        found = [
            module.rank
            for path in files
            if (module := module_of(path)) and (module.parent, module.name) == (parent, name)
        ]
        if found:
            return min(found)
        below = (module_of(path) for path in self.starting_with(f"{base}/"))
        return Rank.NAMESPACE if any(below) else None
