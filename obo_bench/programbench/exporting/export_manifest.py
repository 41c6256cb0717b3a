"""`export_manifest.json`: what became of every instance of an export (wire format).

Console, `--json` and the file are all made from this one document, so their numbers cannot differ.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Literal, Self

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.admission.order import ExportedFrom
from obo_bench.programbench.exporting.transfer import Method

EXPORT_MANIFEST_NAME = "export_manifest.json"

ExportStatus = Literal["copied", "skipped", "missing", "corrupt"]

FAULTS = frozenset(
    {
        "archive_missing",
        "archive_unreadable",
        "hash_differs",
        "submission_unrecorded",
        "destination_differs",
        "destination_unwritable",
        "not_attempted",
    }
)
"""Reasons for which a submission that is or should be there did not get across: the export has failed in part.

Having none to hand in (`not_submitted`) is the instance's own ending, and no failure of the export.
"""


class ExportedInstance(WireModel):
    """One instance of an export."""

    instance_id: str
    """The instance."""
    status: ExportStatus | LaterWord
    """copied, skipped (it was there already), missing (nothing could be taken) or corrupt (not what was recorded)."""
    reason: str
    """exported, already_exported, not_submitted, or one of the faults."""
    detail: str = ""
    """The same for people; empty when all is well."""
    sha256: str = ""
    """SHA-256 of the archive in the destination; empty when the export vouches for none."""
    size: int = 0
    """Its size in bytes."""
    method: Method | LaterWord | None = None
    """How it came there: reflink, hardlink or copy; null when it was there already."""
    unverified: bool = False
    """Whether no ledger of the source recorded its hash, so that only its being whole was checked."""
    source_reason: str = ""
    """How the instance ended in the source: the reason of its last ledger row."""


class ExportTotals(WireModel):
    """The numbers of an export; copied, skipped, missing and corrupt add up to requested."""

    requested: int
    """Instances that the destination is about."""
    copied: int
    """Archives that this export brought."""
    skipped: int
    """Archives that were there already, and are the recorded ones."""
    missing: int
    """Instances of which nothing could be taken."""
    corrupt: int
    """Instances whose archive, in source or destination, is not the recorded one."""
    faults: int
    """Instances among the missing and corrupt that fail the export."""

    @classmethod
    def of(cls, instances: Collection[ExportedInstance]) -> Self:
        """Count."""
        statuses = Counter(str(instance.status) for instance in instances)
        return cls(
            requested=len(instances),
            copied=statuses["copied"],
            skipped=statuses["skipped"],
            missing=statuses["missing"],
            corrupt=statuses["corrupt"],
            faults=sum(instance.reason in FAULTS for instance in instances),
        )

    @property
    def present(self) -> int:
        """Archives that are in the destination now."""
        return self.copied + self.skipped

    def __str__(self) -> str:
        return (
            f"{self.copied} copied, {self.skipped} skipped, {self.missing} missing, {self.corrupt} corrupt "
            f"of {self.requested} requested"
        )


class ExportManifest(WireModel):
    """The whole document."""

    schema_: Literal["obo_bench.export_manifest.v1"] = Field("obo_bench.export_manifest.v1", alias="schema")
    """Format name."""
    source: ExportedFrom
    """Where the submissions come from."""
    destination: str
    """Where they are."""
    invocation: str
    """The invocation that exported them."""
    created_at_unix: float
    """When that was, in wall-clock seconds."""
    overwrite: bool
    """Whether other archives in the destination were to be replaced."""
    totals: ExportTotals
    """The numbers."""
    instances: list[ExportedInstance]
    """What became of every instance, in the order of the export."""
    leaderboard: dict[str, Any] | None = None
    """What --leaderboard added, in this export or in an earlier one that this left as it was; null otherwise."""

    def told(self) -> Iterable[ExportedInstance]:
        """Return the instances that an operator should hear of."""
        return (instance for instance in self.instances if instance.detail)
