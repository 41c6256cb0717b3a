"""Count instances by what their last rows say."""

from collections.abc import Collection

from obo_bench.core.ledger_row import Row


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
