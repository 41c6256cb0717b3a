"""Export one instance: find out what was recorded, bring it across, and say what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import make_private_directory, write_json
from obo_bench.core.ledger import Row
from obo_bench.programbench.evaluation.eval_files import read_provenance, set_aside
from obo_bench.programbench.exporting.export_manifest import ExportedInstance, ExportStatus
from obo_bench.programbench.exporting.source import Source
from obo_bench.programbench.exporting.transfer import NotTransferred, archive_sha256, transfer_archive
from obo_bench.programbench.packaging.submission import RECORD_NAME, SubmissionRecord
from obo_bench.programbench.paths import InstancePaths

_STATUSES: Mapping[str, ExportStatus] = {
    "not_submitted": "missing",
    "not_attempted": "missing",
    "archive_missing": "missing",
    "destination_unwritable": "missing",
    "archive_unreadable": "corrupt",
    "hash_differs": "corrupt",
    "submission_unrecorded": "corrupt",
    "destination_differs": "corrupt",
}
"""What an instance counts as whose submission did not get across, by the reason."""


@dataclass(frozen=True)
class _Recorded:
    """What must be in the destination."""

    sha256: str | None
    """Hash of the archive; None where it cannot even be read."""
    unverified: bool
    """Whether the source has no ledger that recorded it."""


@dataclass(frozen=True)
class InstanceExport:
    """Exports the instances of one source into one destination."""

    source: Source
    """Where from."""
    root: Path
    """Where to."""
    overwrite: bool
    """Whether another archive in the destination is replaced."""
    invocation: str
    """Names the directory for what is set aside."""

    def export(self, instance_id: str, row: Row | None) -> ExportedInstance:
        """Return what came of an instance, whose last row in the source is `row`; no fault of one stops the others."""
        try:
            return self._exported(instance_id, row)
        except NotTransferred as trouble:
            return not_exported(instance_id, row, trouble)
        except OSError as error:
            unwritable = NotTransferred("destination_unwritable", f"it cannot be written: {error}")
            return not_exported(instance_id, row, unwritable)

    def would_change(self, instance_id: str, row: Row | None) -> bool:
        """Say whether an export would bring, replace or remove the archive of an instance."""
        present = archive_sha256(InstancePaths(self.root, instance_id).submission)
        try:
            recorded = self._recorded(instance_id, row)
        except NotTransferred as trouble:
            return self.overwrite and present is not None and trouble.reason == "not_submitted"
        return present != recorded.sha256 and (present is None or self.overwrite)

    def _exported(self, instance_id: str, row: Row | None) -> ExportedInstance:
        place = InstancePaths(self.root, instance_id)
        present = archive_sha256(place.submission)
        try:
            recorded = self._recorded(instance_id, row)
        except NotTransferred as trouble:
            if present is not None and trouble.reason == "not_submitted":
                self._give_up(place, present)
            raise
        entry = ExportedInstance(
            instance_id=instance_id,
            status="skipped",
            reason="already_exported",
            unverified=recorded.unverified,
            source_reason=row.reason_code if row else "",
        )
        if present and present == recorded.sha256:
            self._carry_record(place, present)
            return entry.model_copy(update={"sha256": present, "size": place.submission.stat().st_size})
        if present is not None and not self.overwrite:
            raise _differs(present, f"the source's is {recorded.sha256 or 'unreadable'}")
        return self._transferred(place, entry, recorded.sha256)

    def _transferred(self, place: InstancePaths, entry: ExportedInstance, sha256: str | None) -> ExportedInstance:
        def make_way(brought: str) -> None:
            """Keep no result but that of this very archive; before it is there, because a kill may come between."""
            proof = read_provenance(self.root, place.instance_id)
            if proof is None or proof.submission_sha256 != brought:
                set_aside(self.root, place.instance_id, self.invocation)

        make_private_directory(place.directory)
        brought = transfer_archive(self.source.archive(place.instance_id), place.submission, sha256, make_way)
        self._carry_record(place, brought.sha256)
        found = {"sha256": brought.sha256, "size": brought.size, "method": brought.method}
        return entry.model_copy(update={"status": "copied", "reason": "exported", **found})

    def _recorded(self, instance_id: str, row: Row | None) -> _Recorded:
        """Return what the source says of its archive; raises NotTransferred where it says nothing that counts."""
        if sha256 := self.source.submitted.recorded_sha256(instance_id):
            return _Recorded(sha256, unverified=False)
        archive = self.source.archive(instance_id)
        if not self.source.submitted.has_archive(instance_id):
            raise NotTransferred(
                "not_submitted", f"the source has no submission ({row.reason_code if row else 'it was never come to'})"
            )
        if self.source.submitted.is_unaccounted(instance_id):
            return _Recorded(archive_sha256(archive, follow=True) or None, unverified=True)
        raise NotTransferred("submission_unrecorded", "the source has an archive that its ledger does not vouch for")

    def _give_up(self, place: InstancePaths, present: str) -> None:
        """What the source does not hand in any more may not be graded as its submission."""
        if not self.overwrite:
            raise _differs(present, "the source has none (any more)")
        set_aside(self.root, place.instance_id, self.invocation)
        place.submission.unlink()
        (place.directory / RECORD_NAME).unlink(missing_ok=True)

    def _carry_record(self, place: InstancePaths, sha256: str) -> None:
        """Write the submission.json that belongs to the archive; one of another archive does not stay."""
        record = _record_of(self.source.archive(place.instance_id).with_name(RECORD_NAME), sha256)
        standing = place.directory / RECORD_NAME
        if record is None:
            if _record_of(standing, sha256) is None:
                standing.unlink(missing_ok=True)
        elif _record_of(standing, sha256) != record:
            write_json(standing, record.document())


def not_exported(instance_id: str, row: Row | None, trouble: NotTransferred) -> ExportedInstance:
    """Return the entry of an instance whose submission did not get across."""
    return ExportedInstance(
        instance_id=instance_id,
        status=_STATUSES[trouble.reason],
        reason=trouble.reason,
        detail=str(trouble),
        source_reason=row.reason_code if row else "",
    )


def not_come_to(instance_id: str) -> ExportedInstance:
    """Return the entry of an instance that the export was stopped before."""
    return not_exported(instance_id, None, NotTransferred("not_attempted", "the export was stopped before it"))


def _record_of(path: Path, sha256: str) -> SubmissionRecord | None:
    try:
        record = read_document(SubmissionRecord, path) if path.is_file() else None
    except UnreadableDocument:
        return None
    return record if record is not None and record.sha256 == sha256 else None


def _differs(present: str, other: str) -> NotTransferred:
    shown = present or "no readable file"
    return NotTransferred(
        "destination_differs", f"the destination's archive is {shown}, {other}; --overwrite replaces it"
    )
