"""What an earlier invocation left unsaid about a task: how it ended, what it cost, or that nobody can know."""

from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import cost_of
from obo_bench.gateway.outcome import judge
from obo_bench.programbench.rows import append_row
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.decision import Decision
from obo_bench.programbench.solving.endings import CANCELLED_BY_OPERATOR
from obo_bench.programbench.solving.room import clear_rooms

SUPERSEDED = "superseded"
"""Reason of an attempt whose finished work was set aside, because the operator asked for another one."""
_LONGEST_ERROR = 500


def record_left_task(attempt: Attempt, decision: Decision) -> None:
    """Put the end of an earlier attempt's task on record before another one begins, so that its cost is not forgotten.

    Nothing is written where the ledger knows it already.
    """
    task, record, context = decision.checkpoint, decision.record, attempt.context
    if task is None or record is None or not record.final or context.spending.knows(attempt.id, task.attempt):
        return
    told = decision.row if decision.row is not None and decision.row.attempt == task.attempt else None
    cost = cost_of(record)
    if told is not None and cost["usd"] is None:
        return
    outcome = judge(record)
    details = {"task_id": task.task_id, "server_reason": outcome.reason, "infrastructure": True, "left_behind": True}
    append_row(
        context,
        attempt.id,
        told.status if told else "failed",
        told.reason_code if told else (SUPERSEDED if outcome.completed else outcome.reason),
        attempt=task.attempt,
        error=told.error if told else (record.result or "")[:_LONGEST_ERROR],
        details={**told.details, "task_id": task.task_id, "left_behind": True} if told else details,
        cost=cost,
    )


def cancelled_row(attempt: Attempt, decision: Decision) -> Row:
    """Write that the task is over because an operator asked for that, and remove its container."""
    record, task = decision.record, decision.checkpoint
    clear_rooms(attempt.context, attempt.instance)
    return attempt.row(
        "failed",
        CANCELLED_BY_OPERATOR,
        error="cancelled by the operator",
        # Not the infrastructure's doing: a resume must not undo what an operator decided.
        details={"task_id": task.task_id if task else "", "infrastructure": False},
        cost=cost_of(record) if record is not None else {},
    )


def blocked_row(attempt: Attempt, decision: Decision) -> Row:
    """Write that whether a task is live cannot be known, and what the operator can do."""
    details = {"infrastructure": False} | ({"task_id": decision.checkpoint.task_id} if decision.checkpoint else {})
    return attempt.row("blocked", decision.reason, error=decision.why, details=details)
