"""Which tasks of a run may still be at work at the server, as the run's own files tell: also those of a worker that
hangs, of a killed invocation, and of instances that this one did not come to."""

from dataclasses import asdict, dataclass
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument
from obo_bench.core.ledger import Row
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.settlement import SettledBy
from obo_bench.gateway.wire import FINAL_STATUSES
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import REATTACHABLE, last_ending

_CANCELLED_BY_US = frozenset({SettledBy.EXECUTOR_LOST, SettledBy.EXECUTOR_NOT_REACHED, SettledBy.BUDGET_PAUSED})
"""Endings by a cancel of ours, which a server that was away has not heard of: the checkpoint tells a confirmed one."""


@dataclass(frozen=True)
class RunningTask:
    """A task that nobody has seen ended."""

    instance_id: str
    """Its instance."""
    task_id: str
    """Its id at the server."""
    container: str
    """Name of its cleanroom."""

    def document(self) -> dict[str, str]:
        """Return what the manifest says of it."""
        return asdict(self)


def still_running(run_root: Path) -> list[RunningTask]:
    """Return the tasks that may still run and spend, in the order of their instances' names."""
    return [
        RunningTask(path.parent.name, task.task_id, task.container)
        for path in sorted(run_root.glob(f"*/{CHECKPOINT_NAME}"))
        if (task := _task(path)) is not None and may_still_run(InstancePaths(run_root, path.parent.name), task)
    ]


def _task(path: Path) -> TaskCheckpoint | None:
    try:
        return CheckpointFile(path).read()
    except UnreadableDocument:
        # Which task it was is not known; a resume refuses to guess, too.
        return None


def may_still_run(paths: InstancePaths, task: TaskCheckpoint) -> bool:
    """Say whether nobody has seen the end of an instance's task."""
    if task.status in FINAL_STATUSES:
        return False
    row = last_ending(paths)
    return row is None or row.attempt < task.attempt or _was_left(row)


def _was_left(row: Row) -> bool:
    return row.reason_code in REATTACHABLE or row.reason_code in _CANCELLED_BY_US
