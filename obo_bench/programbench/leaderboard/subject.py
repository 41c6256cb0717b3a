"""An instance of a leaderboard directory with all that its checks look at, and what a check is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from obo_bench.core.ledger import Row
from obo_bench.programbench.admission.order import AdmittedImage
from obo_bench.programbench.leaderboard.selection import Graded
from obo_bench.programbench.leaderboard.source import InstanceRecord, RunRecord, value_at

LONGEST = 200
"""Characters of a foreign word that an objection repeats."""


@dataclass(frozen=True)
class Subject:
    """One instance."""

    graded: Graded
    """Its proven result."""
    record: InstanceRecord
    """Its records."""
    row: Row | None
    """What the solve of its archive wrote in the ledger; None when it is not there."""
    image: AdmittedImage | None
    """The image of its attempts; None when not recorded."""
    audit: Mapping[str, Any]
    """What the audit of this image found, in the last invocation that made one; empty when none is recorded."""

    @classmethod
    def of(cls, run: RunRecord, graded: Graded) -> "Subject":
        """Return the subject for an instance of the run."""
        iid, record = graded.instance_id, run.instances[graded.instance_id]
        image = run.order.images.get(iid) if run.order is not None else None
        audits = [value_at(manifest.harness, "images", iid, "audit") for manifest in run.invocations]
        audit = next((found for found in reversed(audits) if isinstance(found, Mapping)), {})
        return cls(graded, record, record.solved_by(graded.sha256), image, audit)


@dataclass(frozen=True)
class Check:
    """One statement."""

    name: str
    """Stable short name."""
    statement: str
    """What is stated."""
    trouble: Callable[[Subject], str]
    """Returns why it does not hold, or is not known to; empty where it holds."""
    proof: tuple[str, ...]
    """Files that show it."""
