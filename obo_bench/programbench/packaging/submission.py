"""What the agent hands in: submission.tar.gz of its live tree, and submission.json that says what is in it.

The workspace is only read. Either both files are there, whole and verified, or SubmissionFailed says which path
stood in the way and nothing of this attempt is left.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ConfigDict, Field

from obo_bench.core.files import sync_directory, write_json
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.packaging.archive import ArchiveSummary, ArchiveWriter, SubmissionCorrupt, verify_archive
from obo_bench.programbench.packaging.collection_rules import (
    COMPILE_SCRIPT,
    DEFAULT_PROTECTED_PATHS,
    CollectionRules,
    Exclusion,
    Flag,
    may_affect_tests,
)
from obo_bench.programbench.packaging.reference_copies import ReferenceTraces
from obo_bench.programbench.packaging.tree import CHUNK, Entry, TreeChangedError, read_chunks, resolve, walk

ARCHIVE_NAME = "submission.tar.gz"
RECORD_NAME = "submission.json"

LARGEST_TREE = 32 * 1024**3
"""Bytes of files that are packed; a sparse file can claim any number, and would be read for days."""
_ATTEMPTS = 3
_SCRIPT_BYTES_READ = 1 << 16


class SubmissionFailed(RuntimeError):
    """The workspace can't be packed; it is untouched and can be packed again once the cause is gone."""


class CompileScriptCheck(WireModel):
    """What stands in the root as compile.sh; nothing here decides whether it builds."""

    model_config = ConfigDict(frozen=True)

    present: bool
    """A regular file of that name, or a link to one in the tree."""
    executable: bool
    """It has an execute bit (the evaluator sets one anyway)."""
    crlf: bool
    """It has carriage returns at line ends, which end most scripts at their first line."""


class PathNote(WireModel):
    """A path and the reason it is listed for."""

    model_config = ConfigDict(frozen=True)

    path: str
    """Relative to the workspace; bytes that are not UTF-8 as `\\xNN`."""
    reason: Exclusion | Flag | LaterWord
    """A value of Exclusion in `excluded`, of Flag in `flagged`."""


class SubmissionRecord(WireModel):
    """The content of submission.json."""

    model_config = ConfigDict(frozen=True)

    schema_: Literal["obo_bench.submission.v1"] = Field(default="obo_bench.submission.v1", alias="schema")
    """Name and version of this format; `schema` on the wire."""
    sha256: str
    """Hexadecimal hash of submission.tar.gz."""
    size: int
    """Its size in bytes."""
    member_count: int
    """Entries in it, the root among them."""
    compile_sh: CompileScriptCheck
    """What stands in the root as compile.sh."""
    excluded: tuple[PathNote, ...]
    """What was left out; a directory stands for all that it holds."""
    flagged: tuple[PathNote, ...]
    """What is in the archive and deserves a look."""


def package_workspace(
    workspace: Path,
    destination: Path,
    *,
    protected_paths: Sequence[str] = DEFAULT_PROTECTED_PATHS,
    reference_sha256: str | None = None,
) -> SubmissionRecord:
    """Pack `workspace` into submission.tar.gz in the directory `destination`, with submission.json beside it.

    `reference_sha256` is the hash of the reference program, where it is known. A tree that changes under the reader
    is packed afresh, a few times. Raises SubmissionFailed, and UsageError for impossible protected paths.
    """
    rules = CollectionRules.protecting(protected_paths)
    try:
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(TreeChangedError):
                return _package_once(workspace, destination, rules, reference_sha256)
        return _package_once(workspace, destination, rules, reference_sha256)
    except TreeChangedError as change:
        raise SubmissionFailed(
            f"{workspace}: {_shown(change.path)!r} kept changing in {_ATTEMPTS} attempts to pack it; "
            "end what is still writing there and package again"
        ) from change
    except OSError as error:
        raise SubmissionFailed(
            f"{workspace}: can't pack {_shown(str(error.filename or destination))!r}: {error.strerror}; "
            "make it readable (or free space) and package again; the workspace is kept"
        ) from error
    except SubmissionCorrupt as error:
        raise SubmissionFailed(f"the archive did not survive being written: {error}") from error


def _package_once(
    workspace: Path, destination: Path, rules: CollectionRules, reference_sha256: str | None
) -> SubmissionRecord:
    traces = ReferenceTraces.gather(workspace, rules.protected, reference_sha256)
    archive = destination / ARCHIVE_NAME
    with _partial_file(archive) as (sink, partial):
        with ArchiveWriter(sink) as writer:
            packer = _Packer(workspace, rules, traces, writer)
            packer.pack()
            summary = writer.finish()
        sink.flush()
        os.fsync(sink.fileno())
        verify_archive(partial, summary.sha256)
        record = packer.record(summary)
        partial.replace(archive)
    sync_directory(destination)
    write_json(destination / RECORD_NAME, record.document())
    return record


@contextlib.contextmanager
def _partial_file(archive: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open the sibling that becomes the archive; one fixed name, so that a killed attempt's rest is overwritten."""
    partial = archive.with_name(f".{archive.name}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(partial, flags, 0o644), "wb") as sink:
        try:
            yield sink, partial
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


class _Packer:
    """One pass over the workspace: what the rules keep goes to the writer, the rest to the notes."""

    def __init__(self, root: Path, rules: CollectionRules, traces: ReferenceTraces, writer: ArchiveWriter) -> None:
        self._root = root
        self._rules = rules
        self._traces = traces
        self._writer = writer
        self._first_names: dict[tuple[int, int], str] = {}
        self._excluded: list[PathNote] = []
        self._flagged: list[PathNote] = []
        self._bytes = 0

    def pack(self) -> None:
        """Write every member."""
        self._writer.add_directory("", self._root.stat())
        for entry in walk(self._root, self._is_kept):
            mode = entry.status.st_mode
            if stat.S_ISDIR(mode):
                self._writer.add_directory(entry.path, entry.status)
            elif stat.S_ISLNK(mode):
                self._writer.add_link(entry.path, entry.status, entry.read_link())
            else:
                self._add_file(entry)

    def record(self, summary: ArchiveSummary) -> SubmissionRecord:
        """Return the record of what was written."""
        return SubmissionRecord(
            sha256=summary.sha256,
            size=summary.size,
            member_count=summary.member_count,
            compile_sh=_check_compile_script(self._root),
            excluded=tuple(self._excluded),
            flagged=tuple(self._flagged),
        )

    def _is_kept(self, entry: Entry) -> bool:
        mode = entry.status.st_mode
        leads_to = resolve(self._root, entry.path) if stat.S_ISLNK(mode) else entry.path
        reason = self._rules.excluded(entry.path, mode, link_leaves=leads_to is None)
        if reason is None and self._traces.is_hard_link(entry.status):
            reason = Exclusion.REFERENCE_COPY
        if reason is not None:
            self._exclude(entry.path, reason)
            return False
        if leads_to is not None and leads_to != entry.path and self._rules.excluded_by_name(leads_to):
            self._flag(entry.path, Flag.LINKS_TO_EXCLUDED)
        if may_affect_tests(entry.path):
            self._flag(entry.path, Flag.MAY_AFFECT_TESTS)
        return True

    def _add_file(self, entry: Entry) -> None:
        inode = (entry.status.st_dev, entry.status.st_ino)
        if inode in self._first_names:
            self._writer.add_hard_link(entry.path, entry.status, self._first_names[inode])
            return
        descriptor, status = entry.open()
        try:
            self._store(entry.path, descriptor, status)
        finally:
            os.close(descriptor)

    def _store(self, path: str, descriptor: int, status: os.stat_result) -> None:
        """Read once to learn what the file is, then store just that; what is appended meanwhile is left out."""
        self._bytes += status.st_size
        if self._bytes > LARGEST_TREE:
            raise SubmissionFailed(
                f"{self._root}: with {_shown(path)!r} ({status.st_size} bytes) the tree has more than {LARGEST_TREE} "
                "bytes; remove what is no source and package again; the workspace is kept"
            )
        chunks: Iterable[bytes] = read_chunks(descriptor, status.st_size, path)
        if status.st_size <= CHUNK:
            chunks = list(chunks)
        seen = self._traces.inspect(chunks, status.st_size)
        if seen.sha256 in self._traces.hashes:
            self._exclude(path, Exclusion.REFERENCE_COPY)
            return
        if status.st_size > CHUNK:
            chunks = _unchanged(read_chunks(descriptor, seen.size, path), seen.sha256, path)
        self._writer.add_file(path, status, seen.size, chunks)
        if status.st_nlink > 1:
            self._first_names[status.st_dev, status.st_ino] = path
        if seen.resembles_reference:
            self._flag(path, Flag.RESEMBLES_REFERENCE)

    def _exclude(self, path: str, reason: Exclusion) -> None:
        self._excluded.append(PathNote(path=_shown(path), reason=reason))

    def _flag(self, path: str, reason: Flag) -> None:
        self._flagged.append(PathNote(path=_shown(path), reason=reason))


def _unchanged(chunks: Iterable[bytes], sha256: str, path: str) -> Iterator[bytes]:
    """Pass a second reading on; TreeChangedError at its end if it differs from the first."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != sha256:
        raise TreeChangedError(path)


def _check_compile_script(root: Path) -> CompileScriptCheck:
    missing = CompileScriptCheck(present=False, executable=False, crlf=False)
    leads_to = resolve(root, COMPILE_SCRIPT)
    if leads_to is None:
        return missing
    try:
        descriptor = os.open(root / leads_to, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return missing
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return missing
        crlf = b"\r\n" in os.pread(descriptor, _SCRIPT_BYTES_READ, 0)
        return CompileScriptCheck(present=True, executable=bool(mode & 0o111), crlf=crlf)
    finally:
        os.close(descriptor)


def _shown(path: str) -> str:
    """Return a path as text that any reader of JSON accepts."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
