"""What a display shows of a run as a whole, as soon as its gates have passed."""

from obo_bench.core.run_changes import RunChange
from obo_bench.programbench.context import RunContext

SOLVING = "solving"
"""The stage in which instances come to their rows."""


def show_run(context: RunContext) -> None:
    """Show who solves, for how much money, and how many instances there are."""
    manifest, options = context.session.manifest, context.options
    attestation = manifest.extra.runtime_attestation or {}
    model = manifest.harness.get("solve_model")
    context.reporter.update(
        RunChange(
            server_version=attestation.get("runtime_version"),
            model=str(model) if model else None,
            ceiling_usd=options.max_cost_usd,
            stage=SOLVING,
            total=manifest.requested_count,
            workers=options.workers,
        )
    )
    context.show_spending()
