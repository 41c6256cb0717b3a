"""The tasks that a recorded run has submitted, and what its own files already prove about them."""

import difflib
from collections.abc import Sequence

from obo_bench.core.documents import UnreadableDocument
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.wire import FINAL_STATUSES
from obo_bench.programbench.leftovers.run_lookup import RecordedRun
from obo_bench.programbench.leftovers.run_server import TaskEnd
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import CANCELLED_BY_OPERATOR, REATTACHABLE, last_ending


def submitted_instances(
    run: RecordedRun, instance_ids: Sequence[str] = ()
) -> list[tuple[InstancePaths, TaskCheckpoint]]:
    """Return the instances that have a task, all or the named ones.

    Raises PreflightRefused `unknown_instance` for a named one without a task.
    """
    found, damaged = _checkpoints(run)
    known = {**found, **damaged}
    unknown = [name for name in instance_ids if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=3)
        raise PreflightRefused(
            "unknown_instance",
            f"the run {str(run.root)!r} has submitted no task for {unknown[0]!r}"
            + (f"; did you mean {', '.join(near)}?" if near else ""),
            evidence={"unknown": unknown, "near": near},
        )
    return [found[name] for name in dict.fromkeys(instance_ids or found) if name in found]


def damaged_checkpoints(run: RecordedRun, instance_ids: Sequence[str] = ()) -> dict[str, str]:
    """Return what is wrong with each checkpoint that cannot be read, of all instances or the named ones."""
    _, damaged = _checkpoints(run)
    return {name: why for name, why in damaged.items() if not instance_ids or name in instance_ids}


def is_settled(paths: InstancePaths, task: TaskCheckpoint) -> bool:
    """Say whether the ledger tells how the task ended, in a way that leaves nothing of it to be fetched."""
    row = last_ending(paths)
    return row is not None and row.attempt >= task.attempt and _tells_the_end(row, task)


def known_end(task: TaskCheckpoint) -> TaskEnd | None:
    """Return how the task ended as far as its checkpoint proves it: a final status never changes."""
    if task.status not in FINAL_STATUSES:
        return None
    return TaskEnd.COMPLETED if task.status == "completed" else TaskEnd.OVER


def _checkpoints(run: RecordedRun) -> tuple[dict[str, tuple[InstancePaths, TaskCheckpoint]], dict[str, str]]:
    found, damaged = {}, {}
    for path in sorted(run.root.glob(f"*/{CHECKPOINT_NAME}")):
        name = path.parent.name
        try:
            task = CheckpointFile(path).read()
        except UnreadableDocument as error:
            damaged[name] = str(error)
            continue
        if task is not None:
            found[name] = (InstancePaths(run.root, name), task)
    return found, damaged


def _tells_the_end(row: Row, task: TaskCheckpoint) -> bool:
    """An executor may have been lost while the server could not be told to stop: only a final task has ended."""
    if row.reason_code == CANCELLED_BY_OPERATOR:
        return True
    return row.reason_code not in REATTACHABLE and task.status in FINAL_STATUSES
