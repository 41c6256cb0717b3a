"""What a launcher's rows say about its run: counted from the ledger, so that nothing that is on disk is forgotten."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.ledger import Row, read_rows
from obo_bench.core.row_counts import counts_of
from obo_bench.gateway.cost import usd


@dataclass(frozen=True)
class Tally:
    """Instances by what became of them, and money."""

    completed: int
    """Instances with a result, earlier ones included."""
    failed: int
    """Instances that failed or cannot be solved here."""
    skipped: int
    """Those of `completed` that were done already."""
    not_attempted: int
    """Instances that were never started, those without any row included."""
    degraded: int
    """Completed instances whose row says `degraded` in its details."""
    cost_usd: float | None
    """What all attempts of this invocation cost, in USD; None where no row says it."""

    @property
    def clean(self) -> bool:
        """Whether every instance has a result."""
        return not self.failed and not self.not_attempted


def tally(ledger: Path, requested: Sequence[str] | None, invocation: str) -> Tally:
    """Count the last rows of what was requested and of what this invocation wrote; raises OSError.

    Where nothing says what was requested, every instance of the ledger counts.
    """
    last: dict[str, Row] = {}
    costs: dict[tuple[str, int], float] = {}
    own: set[str] = set()
    for row in read_rows(ledger):
        last[row.instance_id] = row
        if row.invocation == invocation:
            own.add(row.instance_id)
            _note_cost(costs, row)
    names = {*requested, *own} if requested is not None else set(last)
    return _counted([last.get(name) for name in names], sum(costs.values()) if costs else None)


def _note_cost(costs: dict[tuple[str, int], float], row: Row) -> None:
    amount = usd(row.cost.get("usd"))
    if amount is not None:
        # A later row of the same attempt repeats what is known of it.
        costs[row.instance_id, row.attempt] = amount


def _counted(rows: Sequence[Row | None], cost_usd: float | None) -> Tally:
    counts = counts_of([row for row in rows if row is not None])
    never_heard_of = sum(row is None for row in rows)
    return Tally(**{**counts, "not_attempted": counts["not_attempted"] + never_heard_of}, cost_usd=cost_usd)
