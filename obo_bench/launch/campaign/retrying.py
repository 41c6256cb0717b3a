"""Whether a step is repeated: only for what the infrastructure did, never for an agent's failure."""

from obo_bench.core.ledger import LEDGER_NAME, latest_rows
from obo_bench.launch.campaign.reactions import reaction_to
from obo_bench.launch.campaign.resolving import Step
from obo_bench.launch.campaign.step_end import StepEnd

PASSING_REASONS = frozenset(
    {"run_locked", "gateway_not_ready", "engine_unreachable", "target_settings_unavailable", "budget_unreadable"}
)
"""Refusals that may be over the next time."""
_WITH_INSTANCES = "instances_failed"


def is_retried(step: Step, end: StepEnd) -> bool:
    """Say whether the infrastructure ended a step, so that the same command may do better.

    A run that is repeated keeps what its agents failed at; it is repeated when at least one instance failed by the
    infrastructure, or was never attempted.
    """
    if end.is_fatal:
        return False
    if end.outcome == "refused":
        return end.reason in PASSING_REASONS
    if end.outcome == _WITH_INSTANCES:
        return infrastructure_failures(step) > 0
    return reaction_to(end).retried


def is_done(step: Step, end: StepEnd) -> bool:
    """Say whether a resume leaves a step alone that ended so."""
    return reaction_to(end).done and not is_retried(step, end)


def infrastructure_failures(step: Step) -> int:
    """Return how many instances of a step failed by the infrastructure, by the last rows of its ledger."""
    if not step.kind.spends:
        return 0
    try:
        rows = latest_rows(step.root / LEDGER_NAME).values()
    except OSError:
        return 0
    return sum(row.status in ("failed", "blocked") and bool(row.details.get("infrastructure")) for row in rows)
