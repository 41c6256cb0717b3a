"""The numbers of a run for its manifest: instances by what became of them, and money."""

from obo_bench.core.row_counts import counts_of
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
