"""Recognising the reference program in what is handed in: by inode, by content hash, by likeness.

A hash finds only exact copies; one more byte makes another hash. So a few short passages of the reference are
searched in every file that is large enough to hold half of it, at any offset.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from obo_bench.programbench.packaging.collection_rules import REFERENCE_NAME
from obo_bench.programbench.packaging.tree import read_chunks

_PASSAGES = 8
_PASSAGE_BYTES = 64
_DISTINCT_BYTES = 16
_SEARCHED_BYTES = 1 << 18


@dataclass(frozen=True)
class Inspection:
    """What one reading of a file showed."""

    sha256: str
    """Hexadecimal hash of the bytes read."""
    size: int
    """How many bytes there were."""
    resembles_reference: bool
    """At least half of the reference's passages occur in it."""


@dataclass(frozen=True)
class ReferenceTraces:
    """What is known of the reference; any part may be missing, as it need not be readable from here."""

    hashes: frozenset[str]
    """Hexadecimal SHA-256 of its content."""
    inodes: frozenset[tuple[int, int]]
    """Device and inode of the protected files in the workspace."""
    passages: tuple[bytes, ...]
    """Short distinctive pieces of its content."""
    size: int
    """Its size in bytes; 0 if it can't be read."""

    @classmethod
    def gather(cls, workspace: Path, protected: Iterable[str], sha256: str | None) -> "ReferenceTraces":
        """Collect the traces from the workspace, and from the hash that was taken when the reference was put there."""
        paths = dict.fromkeys([REFERENCE_NAME, *protected])
        inodes = frozenset(inode for path in paths if (inode := _regular_inode(workspace / path)))
        digest, size, passages = _read_reference(workspace / REFERENCE_NAME)
        return cls(frozenset(known for known in (sha256, digest) if known), inodes, passages, size)

    def is_hard_link(self, status: os.stat_result) -> bool:
        """Tell whether a file shares its content with a protected file."""
        return (status.st_dev, status.st_ino) in self.inodes

    def inspect(self, chunks: Iterable[bytes], expected_size: int) -> Inspection:
        """Read a file's chunks once; passages are searched only where half of the reference could fit."""
        digest, size, tail = hashlib.sha256(), 0, b""
        missing = set(self.passages) if expected_size * 2 >= self.size else set()
        sought = len(missing)
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            if missing:
                text = tail + chunk
                missing = {passage for passage in missing if passage not in text}
                tail = text[1 - _PASSAGE_BYTES :]
        return Inspection(digest.hexdigest(), size, sought > 0 and len(missing) * 2 <= sought)


def _regular_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _read_reference(path: Path) -> tuple[str | None, int, tuple[bytes, ...]]:
    """Return hash, size and passages of the reference, or nothing where it is a link, absent or not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None, 0, ()
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None, 0, ()
        digest = hashlib.sha256()
        for chunk in read_chunks(descriptor, status.st_size, REFERENCE_NAME):
            digest.update(chunk)
        return digest.hexdigest(), status.st_size, _passages(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def _passages(descriptor: int, size: int) -> tuple[bytes, ...]:
    """Take passages at even distances, each from the first place of its stretch that is not padding."""
    found = []
    for number in range(_PASSAGES):
        start, end = size * number // _PASSAGES, size * (number + 1) // _PASSAGES
        stretch = os.pread(descriptor, min(end - start, _SEARCHED_BYTES), start)
        pieces = (stretch[at : at + _PASSAGE_BYTES] for at in range(0, len(stretch) - _PASSAGE_BYTES + 1, 16))
        found.append(next((piece for piece in pieces if len(set(piece)) >= _DISTINCT_BYTES), b""))
    return tuple(dict.fromkeys(passage for passage in found if passage))
