"""Which files of a tree are the reference itself, under another name: by inode, by content, by likeness."""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from obo_bench.programbench.packaging.collection_rules import REFERENCE_NAME
from obo_bench.programbench.packaging.reference_search import ReferenceFinder, Search
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.tree import read_chunks


class KnownReference:
    """What is known of the reference of one workspace."""

    def __init__(self, workspace: Path, protected: Iterable[str], recorded: ReferenceTraces | None) -> None:
        """Rely on the traces that were `recorded` when it was put there, else on what can be read of it now.

        The file in the workspace comes second, as whoever worked there may have put another in its place.
        """
        paths = dict.fromkeys([REFERENCE_NAME, *protected])
        self._inodes = frozenset(inode for path in paths if (inode := _regular_inode(workspace / path)))
        found = ReferenceTraces.of_file(workspace / REFERENCE_NAME)
        self._known = [traces for traces in (recorded, found) if traces is not None]
        self._finder = ReferenceFinder(next((traces for traces in self._known if traces.size), None))

    def is_hard_link(self, status: os.stat_result) -> bool:
        """Tell whether a file shares its content with a protected file."""
        return (status.st_dev, status.st_ino) in self._inodes

    def is_copy(self, descriptor: int, size: int, path: str) -> bool:
        """Tell whether an open file of `size` bytes is the reference, to the byte; raises OSError."""
        if not any(traces.size in (size, 0) for traces in self._known):
            return False
        digest = hashlib.sha256()
        for chunk in read_chunks(descriptor, size, path):
            digest.update(chunk)
        return self.has_hash(digest.hexdigest())

    def has_hash(self, sha256: str) -> bool:
        """Tell whether this is the hash of the reference, in hexadecimal digits."""
        return any(traces.sha256 == sha256 for traces in self._known)

    def search(self, size: int, beginning: bytes) -> Search | None:
        """Return what looks for the reference in a file of `size` bytes; None where it has no room."""
        return self._finder.search(size, beginning)

    def note(self, path: str, search: Search) -> None:
        """Remember what was found in a file."""
        self._finder.note(path, search)

    def holders(self) -> tuple[str, ...]:
        """Return the files that hold the reference, or most of it, only together."""
        return self._finder.holders()


def _regular_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
