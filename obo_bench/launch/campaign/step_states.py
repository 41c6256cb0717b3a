"""The campaign's own ledger: one row before a step starts, one when it has ended; the last one tells its state."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from obo_bench.core.ledger import LEDGER_NAME, Ledger, Row, Status, latest_rows, read_rows
from obo_bench.launch.campaign.resolving import Step
from obo_bench.launch.campaign.step_end import DIED, StepEnd

BENCHMARK = "campaign"
STARTED = "step_started"
"""Reason of the row that is durable before a step's process exists."""
NEEDS = "needs_not_met"
"""Reason of a step whose conditions do not hold."""
_DONE_OUTCOMES = ("completed", "dry_run")


def intend(ledger: Ledger, step: Step, number: int, before: str, ceiling_usd: float | None) -> None:
    """Put on record that a step is about to be started, for the `number`th time, with a ceiling or none.

    Raises LedgerUnwritable.
    """
    details = {
        "previous_invocation": before,
        "run_root": str(step.root),
        "run_id": step.run_id,
        "ceiling_usd": ceiling_usd,
    }
    ledger.append(_row(step.id, "not_attempted", STARTED, number, details))


def conclude(ledger: Ledger, step: Step, number: int, end: StepEnd, seconds: float) -> None:
    """Put on record how it ended; raises LedgerUnwritable."""
    status: Status = "completed" if end.outcome in _DONE_OUTCOMES else "failed"
    details = {
        "outcome": end.outcome,
        "exit_code": end.exit_code,
        "run_root": str(step.root),
        "run_id": step.run_id,
        "step_invocation": end.invocation,
        "refusal": {
            name: end.refusal[name] for name in ("stage", "reason", "message", "remedy") if name in end.refusal
        },
        "counts": dict(end.counts),
    }
    row = _row(step.id, status, end.code(), number, details)
    cost = {} if end.cost_usd is None else {"usd": end.cost_usd, "lower_bound": end.cost_is_lower_bound}
    error = str(end.refusal.get("message") or "")
    ledger.append(row.model_copy(update={"durations": {"step": round(seconds, 3)}, "cost": cost, "error": error}))


def leave_out(ledger: Ledger, step_id: str, reason: str, why: str) -> None:
    """Put on record that a step was not started; raises LedgerUnwritable."""
    ledger.append(_row(step_id, "not_attempted", reason, 1, {}).model_copy(update={"error": why}))


def states(root: Path) -> dict[str, Row]:
    """Return the last row of each step that has one; raises OSError."""
    return latest_rows(root / LEDGER_NAME)


def starts(root: Path) -> dict[str, int]:
    """Return how often each step was started; raises OSError."""
    counted: dict[str, int] = {}
    for row in read_rows(root / LEDGER_NAME):
        if row.reason_code == STARTED:
            counted[row.instance_id] = max(row.attempt, counted.get(row.instance_id, 0))
    return counted


def last_ends(root: Path) -> dict[str, StepEnd]:
    """Return the last ending of each step that ever ended; raises OSError."""
    ended: dict[str, StepEnd] = {}
    for row in read_rows(root / LEDGER_NAME):
        end = end_of_row(row)
        if end is not None:
            ended[row.instance_id] = end
    return ended


def endings(root: Path) -> dict[str, list[StepEnd]]:
    """Return how each start of each step ended, oldest first, with the ceiling that it was told; raises OSError.

    A start without an ending, of a step that died or is at work, counts as one that died.
    """
    ended: dict[str, dict[int, StepEnd]] = {}
    for row in read_rows(root / LEDGER_NAME):
        of_step = ended.setdefault(row.instance_id, {})
        if row.reason_code == STARTED:
            of_step[row.attempt] = StepEnd(DIED, None, ceiling_usd=row.details.get("ceiling_usd"))
        elif (end := end_of_row(row)) is not None:
            begun = of_step.get(row.attempt)
            of_step[row.attempt] = replace(end, ceiling_usd=begun.ceiling_usd if begun else None)
    return {name: list(of_step.values()) for name, of_step in ended.items()}


def end_of_row(row: Row | None) -> StepEnd | None:
    """Return the ending that a row tells, None when it tells of none."""
    if row is None or "outcome" not in row.details:
        return None
    return StepEnd(
        outcome=str(row.details["outcome"]),
        exit_code=row.details.get("exit_code"),
        refusal=row.details.get("refusal") or {},
        cost_usd=row.cost.get("usd"),
        cost_is_lower_bound=bool(row.cost.get("lower_bound")),
        invocation=str(row.details.get("step_invocation") or ""),
        counts=row.details.get("counts") or {},
    )


def _row(step_id: str, status: Status, reason: str, attempt: int, details: Mapping[str, Any]) -> Row:
    return Row(
        benchmark=BENCHMARK,
        instance_id=step_id,
        status=status,
        reason_code=reason,
        attempt=attempt,
        details=dict(details),
    )
