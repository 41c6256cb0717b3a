"""The numbers of a run for its manifest: instances by what became of them, and money."""

from collections.abc import Collection

from obo_bench.core.ledger import Row
from obo_bench.programbench.context import RunContext


def record_counts(context: RunContext, *, ask_server: bool) -> dict[str, int]:
    """Record in the manifest what has come of the instances so far; returns the counts.

    `ask_server` lets the server say what has been spent by now; on a signal nobody waits for that.
    """
    counts = counts_of(context.rows.values())
    extra = context.session.manifest.extra
    for name, number in counts.items():
        setattr(extra, f"{name}_count", number)
    extra.cost = context.spending.document(ask_server=ask_server)
    return counts


def counts_of(rows: Collection[Row]) -> dict[str, int]:
    """Count the last rows of the instances; what is done already counts as completed, too."""
    statuses = [row.status for row in rows]
    return {
        "completed": sum(status in ("completed", "skipped") for status in statuses),
        "failed": sum(status in ("failed", "blocked") for status in statuses),
        "skipped": statuses.count("skipped"),
        "not_attempted": statuses.count("not_attempted"),
        "degraded": sum(bool(row.details.get("degraded")) and row.status in ("completed", "skipped") for row in rows),
    }
