"""One pass over a workspace: what the rules keep goes to the archive, the rest to the notes."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from obo_bench.programbench.packaging.archive import ArchiveSummary, ArchiveWriter
from obo_bench.programbench.packaging.collection_rules import COMPILE_SCRIPT, CollectionRules, Exclusion, Flag
from obo_bench.programbench.packaging.compile_script import check_compile_script
from obo_bench.programbench.packaging.prebuilt import is_program
from obo_bench.programbench.packaging.pytest_influences import (
    CONFIGURATION_BYTES,
    CONFIGURATION_FILES,
    configures_pytest,
    shadows_test_module,
)
from obo_bench.programbench.packaging.record import PathNote, SubmissionRecord, warnings_of
from obo_bench.programbench.packaging.reference_copies import KnownReference
from obo_bench.programbench.packaging.tree import Entry, TreeChangedError, read_chunks, resolve, walk

LARGEST_TREE = 32 * 1024**3
"""Bytes of files that are packed; a sparse file can claim any number, and would be read for days."""
_TICK_NS = 50_000_000
"""Nanoseconds between two times of a file, at least."""


class SubmissionFailed(RuntimeError):
    """The workspace can't be packed; it is untouched and can be packed again once the cause is gone."""


class Packer:
    """Packs one workspace; use it once."""

    def __init__(self, root: Path, rules: CollectionRules, reference: KnownReference, writer: ArchiveWriter) -> None:
        self._root = root
        self._rules = rules
        self._reference = reference
        self._writer = writer
        self._first_names: dict[tuple[int, int], str] = {}
        self._excluded: list[PathNote] = []
        self._flagged: list[PathNote] = []
        self._bytes = 0

    def pack(self) -> None:
        """Write every member; raises SubmissionFailed, TreeChangedError and OSError."""
        self._writer.add_directory("", self._root.stat())
        for entry in walk(self._root, self._is_kept):
            mode = entry.status.st_mode
            if stat.S_ISDIR(mode):
                self._writer.add_directory(entry.path, entry.status)
            elif stat.S_ISLNK(mode):
                self._writer.add_link(entry.path, entry.status, entry.read_link())
            else:
                self._add_file(entry)
        for path in self._reference.holders():
            self._flag(path, Flag.HOLDS_PART_OF_REFERENCE)

    def record(self, summary: ArchiveSummary) -> SubmissionRecord:
        """Return the record of what was written."""
        script = check_compile_script(self._root)
        if script.names_pytest_setup:
            self._flag(COMPILE_SCRIPT, Flag.MAY_AFFECT_TESTS)
        excluded, flagged = tuple(self._excluded), tuple(self._flagged)
        return SubmissionRecord(
            sha256=summary.sha256,
            size=summary.size,
            member_count=summary.member_count,
            compile_sh=script,
            excluded=excluded,
            flagged=flagged,
            warnings=warnings_of(script, excluded, flagged),
        )

    def _is_kept(self, entry: Entry) -> bool:
        mode = entry.status.st_mode
        is_link = stat.S_ISLNK(mode)
        leads_to = resolve(self._root, entry.path) if is_link else entry.path
        reason = self._rules.excluded(entry.path, mode, link_leaves=leads_to is None)
        if reason is None and self._reference.is_hard_link(entry.status):
            reason = Exclusion.REFERENCE_COPY
        if reason is not None:
            self._exclude(entry.path, reason)
            return False
        if is_link and leads_to is not None and self._rules.excluded_by_name(leads_to):
            self._flag(entry.path, Flag.LINKS_TO_EXCLUDED)
        if shadows_test_module(entry.path, is_link=is_link) or (is_link and entry.path in CONFIGURATION_FILES):
            self._flag(entry.path, Flag.MAY_AFFECT_TESTS)
        return True

    def _add_file(self, entry: Entry) -> None:
        inode = (entry.status.st_dev, entry.status.st_ino)
        if inode in self._first_names:
            self._writer.add_hard_link(entry.path, entry.status, self._first_names[inode])
            if entry.path in CONFIGURATION_FILES:
                self._flag(entry.path, Flag.MAY_AFFECT_TESTS)
            return
        descriptor, status = entry.open()
        try:
            self._bytes += status.st_size
            if self._bytes > LARGEST_TREE:
                raise SubmissionFailed(
                    f"{self._root}: with {shown(entry.path)!r} ({status.st_size} bytes) the tree has more than "
                    f"{LARGEST_TREE} bytes; remove what is no source and package again; the workspace is kept"
                )
            if self._reference.is_copy(descriptor, status.st_size, entry.path):
                self._exclude(entry.path, Exclusion.REFERENCE_COPY)
                return
            self._store(entry.path, descriptor, status)
            if status.st_nlink > 1:
                self._first_names[inode] = entry.path
        finally:
            os.close(descriptor)

    def _store(self, path: str, descriptor: int, status: os.stat_result) -> None:
        """Store what the file was when it was opened; what is appended meanwhile is left out."""
        chunks = read_chunks(descriptor, status.st_size, path)
        first = next(chunks, b"")
        self._look(path, first, status.st_size)
        opened, search = time.time_ns(), self._reference.search(status.st_size, first)
        digest = hashlib.sha256()

        def watched() -> Iterator[bytes]:
            size = 0
            for chunk in chain((first,), chunks):
                size += len(chunk)
                digest.update(chunk)
                if search is not None:
                    search.feed(chunk)
                yield chunk
            if size != status.st_size:
                raise TreeChangedError(path)

        self._writer.add_file(path, status, status.st_size, watched())
        if not _is_untouched(descriptor, status, opened):
            _require_same(descriptor, status.st_size, digest.digest(), path)
        if self._reference.has_hash(digest.hexdigest()):
            # It was something else when its hash was looked at.
            raise TreeChangedError(path)
        if search is not None:
            self._reference.note(path, search)
            self._flag_reference(path, found=search.found, inside=search.found_inside, incomplete=search.incomplete)

    def _look(self, path: str, beginning: bytes, size: int) -> None:
        if is_program(beginning):
            self._flag(path, Flag.PREBUILT_BINARY)
        if path in CONFIGURATION_FILES and (size > CONFIGURATION_BYTES or configures_pytest(path, beginning)):
            self._flag(path, Flag.MAY_AFFECT_TESTS)

    def _flag_reference(self, path: str, *, found: bool, inside: bool, incomplete: bool) -> None:
        if found:
            self._flag(path, Flag.RESEMBLES_REFERENCE)
        elif inside:
            self._flag(path, Flag.HOLDS_ENCODED_REFERENCE)
        elif incomplete:
            self._flag(path, Flag.NOT_FULLY_SEARCHED)

    def _exclude(self, path: str, reason: Exclusion) -> None:
        self._excluded.append(PathNote(path=shown(path), reason=reason))

    def _flag(self, path: str, reason: Flag) -> None:
        self._flagged.append(PathNote(path=shown(path), reason=reason))


def _is_untouched(descriptor: int, before: os.stat_result, opened: int) -> bool:
    """Tell by its times that nobody wrote to the file while it was read.

    They cannot tell for one that was written to just before, as they advance by whole ticks of the kernel.
    """
    after = os.fstat(descriptor)
    same = (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    return same and opened - before.st_ctime_ns > _TICK_NS


def _require_same(descriptor: int, size: int, digest: bytes, path: str) -> None:
    """Raise TreeChangedError unless the file still holds what was read; it may have grown."""
    again = hashlib.sha256()
    for chunk in read_chunks(descriptor, size, path):
        again.update(chunk)
    if again.digest() != digest:
        raise TreeChangedError(path)


def shown(path: str) -> str:
    """Return a path as text that any reader of JSON accepts."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
