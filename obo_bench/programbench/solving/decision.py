"""What to do with an instance when a run comes to it: nothing, go on with its task, or solve it (again).

Money is at stake in every branch: a new task is made only when the earlier one is known to be over.

The decision is made of the instance's files and of what `Tasks` answer, so that it can be foretold without being acted
upon: a run's own tasks end what is in the way, those of somebody who only looks do not.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from obo_bench.core.documents import UnreadableDocument
from obo_bench.core.ledger import Row
from obo_bench.gateway.checkpoint import INTENT, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.lifecycle import record_of, retire
from obo_bench.gateway.outcome import judge
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import (
    CANCELLED_BY_OPERATOR,
    CHECKPOINT_UNREADABLE,
    TASK_UNKNOWN,
    attempts_begun,
    finished_row,
    is_kept,
    is_over,
    is_retried,
    last_ending,
)


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
    CANCELLED = "cancelled"
    """Its task is over because an operator asked for that, which is not on record yet."""
    HELD = "held"
    """No further task may be paid for, so the one that it has is not ended in favour of another."""
    BLOCK = "block"
    """Whether its task is live cannot be known: nothing is submitted (design I5)."""


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
    """The task that the decision rests on: what its server says of it."""
    record: TaskRecord | None = None
    """The server's record of an earlier task that is over, for CANCELLED and SOLVE."""
    reason: str = ""
    """The row's reason, for BLOCK."""
    why: str = ""
    """The same for people, with what can be done."""


class Tasks(Protocol):
    """What a decision asks about the task of an instance; each question raises GatewayError when nobody can answer."""

    def record(self, task: TaskCheckpoint) -> TaskRecord | None:
        """Return what is known of a task; None when the server does not know it."""

    def retire(self, task: TaskCheckpoint) -> TaskRecord | None:
        """Make sure that a task is over, and return its last record."""

    def are_held(self) -> bool:
        """Say whether no further task may be paid for."""


@dataclass(frozen=True)
class Wishes:
    """What the operator asks for beyond the ordinary resume."""

    retry: tuple[str, ...] = ()
    """Reasons for which a failed instance is solved again."""
    redo_existing: bool = False
    """Solve done instances again."""


def decide(context: RunContext, instance_id: str) -> Decision:
    """Return the next step; raises GatewayError when the server cannot say whether a task is live."""
    options = context.options
    return decide_by(context.paths(instance_id), Wishes(options.retry, options.redo_existing), _LiveTasks(context))


def decide_by(paths: InstancePaths, wishes: Wishes, tasks: Tasks) -> Decision:
    """Return the next step of an instance by its files and what `tasks` answer; raises their GatewayError."""
    done = finished_row(paths)
    if done is not None and not wishes.redo_existing and not is_retried(done, wishes.retry):
        return Decision(Step.SKIP, done.attempt, row=done)
    row, begun = last_ending(paths), attempts_begun(paths)
    try:
        checkpoint = CheckpointFile(paths.checkpoint).read()
    except UnreadableDocument as error:
        return _damaged(error, begun + 1, wishes.retry)
    if checkpoint is not None:
        told = last_ending(paths, checkpoint.attempt)
        task = _Task(tasks, wishes, checkpoint, told, max(begun, checkpoint.attempt) + 1)
        return task.decide(anew=done is not None)
    if row is None or done is not None or wishes.redo_existing or not is_kept(row, wishes.retry):
        return Decision(Step.SOLVE, begun + 1)
    return Decision(Step.KEEP, row.attempt, row=row)


class _LiveTasks:
    """The tasks of a run at work: what is in the way is ended."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def record(self, task: TaskCheckpoint) -> TaskRecord | None:
        return record_of(self._context.gateway, task)

    def retire(self, task: TaskCheckpoint) -> TaskRecord | None:
        return retire(self._context.gateway, task.task_id)

    def are_held(self) -> bool:
        return self._context.spending.why_not() is not None


def _damaged(error: UnreadableDocument, next_attempt: int, retry: tuple[str, ...]) -> Decision:
    if CHECKPOINT_UNREADABLE in retry:
        return Decision(Step.SOLVE, next_attempt)
    why = (
        f"whether this instance has a live task is unknown ({error}): restore the file, or, when it has none, "
        f"resume with --retry {CHECKPOINT_UNREADABLE}"
    )
    return Decision(Step.BLOCK, next_attempt, reason=CHECKPOINT_UNREADABLE, why=why)


@dataclass(frozen=True)
class _Task:
    """The task that an instance has: its checkpoint, and the last row of its attempt."""

    tasks: Tasks
    wishes: Wishes
    checkpoint: TaskCheckpoint
    row: Row | None
    next_attempt: int

    def decide(self, *, anew: bool) -> Decision:
        """Return the next step; `anew` says that the operator wants another attempt of a finished instance."""
        retry = self.wishes.retry
        if anew or self.wishes.redo_existing:
            held = self.tasks.are_held()
            return Decision(Step.HELD, self.next_attempt, row=self.row) if held else self._again()
        if self.checkpoint.cancel_asked and not self._is_settled():
            return self._again() if CANCELLED_BY_OPERATOR in retry else self._end_for_operator()
        if self.row is not None and is_over(self.row):
            kept = is_kept(self.row, retry)
            return Decision(Step.KEEP, self.row.attempt, row=self.row) if kept else self._again()
        return self._ask()

    def _is_settled(self) -> bool:
        """Whether the ledger tells an end that a resume keeps anyway."""
        return self.row is not None and is_over(self.row) and not self.row.details.get("infrastructure", False)

    def _end_for_operator(self) -> Decision:
        """Finish a cancellation that was begun; work that was finished meanwhile is fetched all the same."""
        record = self.tasks.retire(self.checkpoint)
        if record is not None and record.status == "completed":
            return self._attach(record)
        return Decision(Step.CANCELLED, self.checkpoint.attempt, self.row, self.checkpoint, record)

    def _ask(self) -> Decision:
        record = self.tasks.record(self.checkpoint)
        if record is None:
            return self._unknown()
        return self._anew(record) if record.final and judge(record).infrastructure else self._attach(record)

    def _unknown(self) -> Decision:
        """A submission that may never have arrived is repeated; a task that the server had taken may live elsewhere."""
        task = self.checkpoint
        if task.status == INTENT:
            return Decision(Step.REPOST, task.attempt, self.row, task)
        if TASK_UNKNOWN in self.wishes.retry:
            return self._anew(None)
        why = (
            f"the server had taken task {task.task_id} ({task.status}) and does not know it any more: start it with "
            f"the data directory it had, or, when the task cannot be live, resume with --retry {TASK_UNKNOWN}"
        )
        return Decision(Step.BLOCK, task.attempt, self.row, task, reason=TASK_UNKNOWN, why=why)

    def _attach(self, record: TaskRecord) -> Decision:
        seen = self.checkpoint.model_copy(update={"status": record.status or INTENT})
        return Decision(Step.ATTACH, seen.attempt, self.row, seen)

    def _again(self) -> Decision:
        """Return a new attempt, once the earlier task is known to be over."""
        return self._anew(self.tasks.retire(self.checkpoint))

    def _anew(self, record: TaskRecord | None) -> Decision:
        return Decision(Step.SOLVE, self.next_attempt, self.row, self.checkpoint, record)
