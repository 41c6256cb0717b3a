"""What to do with an instance when a run comes to it: nothing, go on with its task, or solve it (again).

Money is at stake in every branch: a new task is made only when the earlier one is known to be over.
"""

from dataclasses import dataclass
from enum import StrEnum

from obo_bench.core.files import sha256_file
from obo_bench.core.ledger import LEDGER_NAME, Row, read_rows
from obo_bench.gateway.checkpoint import INTENT, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.lifecycle import retire
from obo_bench.gateway.outcome import judge
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.paths import InstancePaths

PERMANENT = frozenset({"image_not_found"})
"""Reasons that a repetition cannot change."""
PACKAGING_FAILED = "submission_failed"
REATTACHABLE = frozenset(
    {"client_poll_timeout_reattachable", "client_poll_error_reattachable", "interrupted", PACKAGING_FAILED}
)
"""Endings after which the task may still be live, or its finished work still waits to be packaged."""


class Step(StrEnum):
    """What follows."""

    SKIP = "skip"
    """It is done."""
    KEEP = "keep"
    """It ended in a way that a resume does not repeat."""
    ATTACH = "attach"
    """Its task is live or over at the server: go on with it."""
    REPOST = "repost"
    """Its intent is on disk, but the server does not know the task: post it again under the same id."""
    SOLVE = "solve"
    """A new attempt."""


@dataclass(frozen=True)
class Decision:
    """The next step of an instance."""

    step: Step
    """What to do."""
    attempt: int = 1
    """The attempt it belongs to."""
    row: Row | None = None
    """The latest row, where there is one."""
    checkpoint: TaskCheckpoint | None = None
    """The task, for ATTACH and REPOST."""


def decide(context: RunContext, instance_id: str) -> Decision:
    """Return the next step; raises GatewayError when the server cannot say whether a task is live."""
    paths = context.paths(instance_id)
    done = finished_row(paths)
    checkpoint = CheckpointFile(paths.checkpoint).read()
    if done is not None and not context.options.redo_existing:
        return Decision(Step.SKIP, done.attempt, row=done)
    row = last_ending(paths)
    if context.options.redo_existing:
        return _again(context, checkpoint, row)
    if checkpoint is not None:
        return _go_on(context, checkpoint, row)
    if row is None or not is_kept(row, context.options.retry):
        return Decision(Step.SOLVE, _attempts(row, None) + 1)
    return Decision(Step.KEEP, row.attempt, row=row)


def finished_row(paths: InstancePaths) -> Row | None:
    """Return the row that proves an instance done: completed, no dry run, and its archive is the one on disk."""
    completed = [
        row for row in read_rows(paths.directory / LEDGER_NAME) if row.status == "completed" and row.submission_sha256
    ]
    if not completed or not paths.submission.is_file():
        return None
    digest = sha256_file(paths.submission)
    return next((row for row in reversed(completed) if row.submission_sha256 == digest), None)


def last_ending(paths: InstancePaths) -> Row | None:
    """Return the last row that tells how an attempt ended; that a later invocation never came to it is none."""
    endings = [
        row
        for row in read_rows(paths.directory / LEDGER_NAME)
        if row.status != "not_attempted" and row.reason_code != "dry_run"
    ]
    return endings[-1] if endings else None


def is_kept(row: Row, retry: tuple[str, ...]) -> bool:
    """Say whether a resume leaves this ending alone: the agent's own failure, or a permanent reason."""
    if row.reason_code in retry or row.status == "completed":
        return False
    return row.reason_code in PERMANENT or not row.details.get("infrastructure", False)


def _go_on(context: RunContext, checkpoint: TaskCheckpoint, row: Row | None) -> Decision:
    if row is not None and row.attempt == checkpoint.attempt and row.reason_code not in REATTACHABLE:
        return _after(context, row, checkpoint)
    record = context.gateway.task(checkpoint.task_id)
    if record is None:
        return Decision(Step.REPOST, checkpoint.attempt, checkpoint=checkpoint)
    if record.final and judge(record).infrastructure:
        return Decision(Step.SOLVE, checkpoint.attempt + 1)
    return Decision(Step.ATTACH, checkpoint.attempt, row, _seen(checkpoint, record))


def _after(context: RunContext, row: Row, checkpoint: TaskCheckpoint) -> Decision:
    if is_kept(row, context.options.retry):
        return Decision(Step.KEEP, row.attempt, row=row)
    return _again(context, checkpoint, row)


def _again(context: RunContext, checkpoint: TaskCheckpoint | None, row: Row | None) -> Decision:
    """Return a new attempt, once the earlier task is known to be over."""
    if checkpoint is not None:
        retire(context.gateway, checkpoint.task_id)
    return Decision(Step.SOLVE, _attempts(row, checkpoint) + 1)


def _seen(checkpoint: TaskCheckpoint, record: TaskRecord) -> TaskCheckpoint:
    return checkpoint.model_copy(update={"status": record.status or INTENT})


def _attempts(row: Row | None, checkpoint: TaskCheckpoint | None) -> int:
    return max(row.attempt if row is not None else 0, checkpoint.attempt if checkpoint is not None else 0)
