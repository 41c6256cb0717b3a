"""What the agent hands in: submission.tar.gz of its live tree, and submission.json that says what is in it.

The workspace is only read. Either both files are there, whole and verified, or SubmissionFailed says which path
stood in the way and nothing of this attempt is left. Both are wholly on disk before the first of them gets its name,
the archive before its record: a kill in between leaves an archive that no ledger row vouches for, which is packed
again, never an older one with a record that is not its own.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from obo_bench.core.files import PRIVATE_FILE, json_bytes, sync_directory
from obo_bench.programbench.packaging.archive import ArchiveWriter, SubmissionCorrupt, verify_archive
from obo_bench.programbench.packaging.collection_rules import (
    DEFAULT_PROTECTED_PATHS,
    REFUSED_WHEN_STRICT,
    CollectionRules,
)
from obo_bench.programbench.packaging.packer import Packer, SubmissionFailed, shown
from obo_bench.programbench.packaging.record import CompileScriptCheck, PathNote, SubmissionRecord
from obo_bench.programbench.packaging.reference_copies import KnownReference
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.tree import TreeChangedError

__all__ = [
    "ARCHIVE_NAME",
    "RECORD_NAME",
    "CompileScriptCheck",
    "SubmissionFailed",
    "SubmissionRecord",
    "SubmissionSuspect",
    "package_workspace",
]

ARCHIVE_NAME = "submission.tar.gz"
RECORD_NAME = "submission.json"

_ARCHIVE_MODE = 0o644
_ATTEMPTS = 3
_SHOWN_PATHS = 5


class SubmissionSuspect(SubmissionFailed):
    """The archive would hold the reference, or what can't be told from it, and the operator wants none such."""

    def __init__(self, workspace: Path, flagged: tuple[PathNote, ...]) -> None:
        named = ", ".join(f"{note.path!r} ({note.reason})" for note in flagged[:_SHOWN_PATHS])
        more = f", and {len(flagged) - _SHOWN_PATHS} more" if len(flagged) > _SHOWN_PATHS else ""
        super().__init__(
            f"{workspace}: --strict refuses {named}{more}; nothing was published and the workspace is kept: look at "
            "these files, and package it as it is by resuming without --strict"
        )
        self.flagged = flagged
        """What was refused."""


def package_workspace(
    workspace: Path,
    destination: Path,
    *,
    protected_paths: Sequence[str] = DEFAULT_PROTECTED_PATHS,
    reference: ReferenceTraces | None = None,
    strict: bool = False,
) -> SubmissionRecord:
    """Pack `workspace` into submission.tar.gz in the directory `destination`, with submission.json beside it.

    `reference` is what was recorded of the reference program when it was put there; without it, what can be read of it
    in the workspace counts. `strict` refuses files that are flagged for being, or perhaps hiding, a copy of it. A tree
    that changes under the reader is packed afresh, a few times.

    Raises SubmissionFailed (SubmissionSuspect for what `strict` refuses), UsageError for impossible protected paths.
    """
    rules = CollectionRules.protecting(protected_paths)
    try:
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(TreeChangedError):
                return _package_once(workspace, destination, rules, reference, strict=strict)
        return _package_once(workspace, destination, rules, reference, strict=strict)
    except TreeChangedError as change:
        raise SubmissionFailed(
            f"{workspace}: {shown(change.path)!r} kept changing in {_ATTEMPTS} attempts to pack it; "
            "end what is still writing there and package again"
        ) from change
    except OSError as error:
        raise SubmissionFailed(
            f"{workspace}: can't pack {shown(str(error.filename or destination))!r}: {error.strerror}; "
            "make it readable (or free space) and package again; the workspace is kept"
        ) from error
    except SubmissionCorrupt as error:
        raise SubmissionFailed(f"the archive did not survive being written: {error}") from error


def _package_once(
    workspace: Path, destination: Path, rules: CollectionRules, recorded: ReferenceTraces | None, *, strict: bool
) -> SubmissionRecord:
    reference = KnownReference(workspace, rules.protected, recorded)
    archive = destination / ARCHIVE_NAME
    with _partial_file(archive, _ARCHIVE_MODE) as (sink, partial):
        with ArchiveWriter(sink) as writer:
            packer = Packer(workspace, rules, reference, writer)
            packer.pack()
            summary = writer.finish()
        sink.flush()
        os.fsync(sink.fileno())
        record = packer.record(summary)
        suspect = tuple(note for note in record.flagged if note.reason in REFUSED_WHEN_STRICT)
        if strict and suspect:
            raise SubmissionSuspect(workspace, suspect)
        verify_archive(partial, summary.sha256)
        _publish(partial, archive, record)
    return record


def _publish(partial: Path, archive: Path, record: SubmissionRecord) -> None:
    """Give archive and record their names; raises OSError."""
    place = archive.with_name(RECORD_NAME)
    with _partial_file(place, PRIVATE_FILE) as (sink, partial_record):
        sink.write(json_bytes(record.document()))
        sink.flush()
        os.fsync(sink.fileno())
        partial.replace(archive)
        try:
            # In this order after a power loss, too.
            sync_directory(archive.parent)
            partial_record.replace(place)
        except OSError:
            archive.unlink()
            raise
    sync_directory(archive.parent)


@contextlib.contextmanager
def _partial_file(target: Path, mode: int) -> Iterator[tuple[BinaryIO, Path]]:
    """Open the sibling that becomes `target`; one fixed name, so that a killed attempt's rest is overwritten."""
    partial = target.with_name(f".{target.name}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(partial, flags, mode), "wb") as sink:
        try:
            yield sink, partial
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
