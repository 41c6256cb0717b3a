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
    """Count the last rows of the instances.

    What is done already counts as completed, also where an interrupted resume did not come to it.
    """
    statuses = [row.status for row in rows]
    completed = [row for row in rows if row.status in ("completed", "skipped") or _was_done(row)]
    return {
        "completed": len(completed),
        "failed": sum(status in ("failed", "blocked") for status in statuses),
        "skipped": statuses.count("skipped"),
        "not_attempted": statuses.count("not_attempted"),
        "degraded": sum(bool(row.details.get("degraded")) for row in completed),
    }


def _was_done(row: Row) -> bool:
    return row.status == "not_attempted" and bool(row.submission_sha256)
