"""What an instance's submission took: how its solve ended, and every attempt on the way with what it cost.

A part of `grade_summary.json`, so that a final success cannot hide the attempts that were paid for before it.
"""

from collections.abc import Collection

from pydantic import ConfigDict, Field

from obo_bench.core.wire_format import WireModel

CARRIED_ACCOUNT = "solve_account"
"""Detail of an export's ledger rows that holds the account of the source."""


class InstanceAccount(WireModel):
    """The ledger's word on one instance, over all invocations of its run."""

    model_config = ConfigDict(frozen=True)

    status: str
    """Status of its last ledger row."""
    reason_code: str
    """Reason of that row: why there is a submission, or none."""
    infrastructure: bool
    """Whether the infrastructure ended its last attempt."""
    degraded: bool
    """Whether the solve of its submission was not clean (provider failure, spent budget, dead executor)."""
    solve_attempts: int = Field(ge=0)
    """Attempts for which a task was given to the server, the last one included."""
    repeats_after_infrastructure: int = Field(ge=0)
    """Attempts that followed one which the infrastructure had ended."""
    repeats_asked_for: int = Field(ge=0)
    """Attempts that followed any other ending, with --redo-existing or --retry in their invocation's manifest."""
    repeats_undeclared: int = Field(ge=0)
    """Attempts that followed any other ending and that no manifest announces."""
    known_usd: float
    """Known cost of all attempts, in USD."""
    unknown_costs: int = Field(ge=0)
    """Attempts whose cost is unknown, a solve of which the ledger knows nothing included; not 0 USD each."""
    lower_bound: bool
    """Whether `known_usd` may be less than what was spent."""


class SolveTotals(WireModel):
    """The sums over the accounts of all requested instances."""

    model_config = ConfigDict(frozen=True)

    attempts: int
    """Attempts for which a task was given to the server."""
    instances_with_several_attempts: int
    """Instances that had more than one."""
    repeats_after_infrastructure: int
    """Sum of the field of this name."""
    repeats_asked_for: int
    """Sum of the field of this name."""
    repeats_undeclared: int
    """Sum of the field of this name; anything but 0 means that a best-of-N may be hidden in the scores."""
    degraded: int
    """Instances whose submission comes from a solve that was not clean."""
    known_usd: float
    """Known cost of all attempts, in USD."""
    unknown_costs: int
    """Attempts whose cost is unknown."""
    lower_bound: bool
    """Whether `known_usd` may be less than what was spent."""


def total_of(accounts: Collection[InstanceAccount]) -> SolveTotals:
    """Add the accounts up."""
    return SolveTotals(
        attempts=sum(a.solve_attempts for a in accounts),
        instances_with_several_attempts=sum(a.solve_attempts > 1 for a in accounts),
        repeats_after_infrastructure=sum(a.repeats_after_infrastructure for a in accounts),
        repeats_asked_for=sum(a.repeats_asked_for for a in accounts),
        repeats_undeclared=sum(a.repeats_undeclared for a in accounts),
        degraded=sum(a.degraded for a in accounts),
        known_usd=round(sum(a.known_usd for a in accounts), 6),
        unknown_costs=sum(a.unknown_costs for a in accounts),
        lower_bound=any(a.lower_bound for a in accounts),
    )
