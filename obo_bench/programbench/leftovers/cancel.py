"""`programbench cancel`: end what a run has left at the server, and record it.

A task counts as cancelled only when the server has confirmed that it is over; only then its row is written, which
keeps a resume from solving the instance again, and only then its container goes.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from obo_bench.core.files import write_json
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.cost import cost_of
from obo_bench.gateway.errors import GatewayError
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.leftovers.leftover_rooms import remove_rooms
from obo_bench.programbench.leftovers.run_lookup import RecordedRun, hold_run
from obo_bench.programbench.leftovers.run_server import Ended, RunServer, TaskEnd
from obo_bench.programbench.leftovers.run_tasks import damaged_checkpoints, is_settled, known_end, submitted_instances
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import CANCELLED_BY_OPERATOR

CANCELLED = frozenset({TaskEnd.CANCELLED, TaskEnd.LOST, TaskEnd.UNKNOWN})
"""Ends by which nothing of the task can go on."""
WHY = {
    TaskEnd.CANCELLED: "cancelled by the operator",
    TaskEnd.LOST: "cancelled by the operator; a crash of the server had lost the waiting task",
    TaskEnd.UNKNOWN: "cancelled by the operator; the server does not know the task",
    TaskEnd.COMPLETED: "the agent has finished: nothing was cancelled, resume the run to package its work",
    TaskEnd.OVER: "the task had ended by itself: nothing was cancelled, a resume records how",
}


@dataclass(frozen=True)
class CancelledInstance:
    """What became of one instance."""

    instance_id: str
    """The instance."""
    task_id: str
    """Its task."""
    result: str
    """A `TaskEnd`, `settled` (its end was on record already), or `not_cancelled` (it may still run and spend)."""
    detail: str = ""
    """One human line."""
    leftovers: tuple[str, ...] = ()
    """What could not be removed from the engine, in words."""

    @property
    def trouble(self) -> bool:
        """Whether something that was asked for did not happen."""
        return self.result == "not_cancelled" or bool(self.leftovers)

    def document(self) -> dict[str, Any]:
        """Return the instance's part of the answer."""
        return asdict(self)


def cancel_run(
    run: RecordedRun, *, url: str | None, instance_ids: Sequence[str], reporter: Reporter
) -> list[CancelledInstance]:
    """End the run's live tasks, all or those of the named instances; returns what became of each.

    Raises PreflightRefused while the run's process lives, for an instance that has no task, and when the server
    cannot be asked about any task: then nothing was touched.
    """
    with hold_run(run, "cancel") as invocation:
        chosen = submitted_instances(run, instance_ids)
        damaged = [
            CancelledInstance(name, "unknown", "not_cancelled", f"which task it has is unknown: {why}")
            for name, why in damaged_checkpoints(run, instance_ids).items()
        ]
        told = [_on_record(paths, task) for paths, task in chosen]
        if None not in told:
            return [instance for instance in told if instance is not None] + damaged
        with _server(run, url) as server:
            server.check()
            ledger = Ledger(run.root, invocation, process_redactor())
            return [
                instance or _cancel(run, server, ledger, paths, task, reporter)
                for instance, (paths, task) in zip(told, chosen, strict=True)
            ] + damaged


def _server(run: RecordedRun, url: str | None) -> RunServer:
    try:
        return RunServer(run, url)
    except GatewayError as error:
        raise PreflightRefused(
            "gateway_not_ready", str(error), evidence={"why": str(error)}, remedy="name it with --ouroboros-url"
        ) from error


def _on_record(paths: InstancePaths, task: TaskCheckpoint) -> CancelledInstance | None:
    """Return what the run's own files prove about a task; None when the server has to be asked."""
    if is_settled(paths, task):
        return CancelledInstance(paths.instance_id, task.task_id, "settled", "its end is on record")
    end = known_end(task)
    if end is None or (end is TaskEnd.OVER and task.cancel_asked):
        return None
    return CancelledInstance(paths.instance_id, task.task_id, end.value, WHY[end])


def _cancel(
    run: RecordedRun, server: RunServer, ledger: Ledger, paths: InstancePaths, task: TaskCheckpoint, reporter: Reporter
) -> CancelledInstance:
    checkpoints = CheckpointFile(paths.checkpoint)
    reporter.event(f"cancelling task {task.task_id}", paths.instance_id)
    try:
        ended = server.end(
            task.task_id, announce=lambda: checkpoints.write(task.model_copy(update={"cancel_asked": True}))
        )
    except GatewayError as error:
        reporter.event(f"not cancelled, it may still run and spend: {error}", paths.instance_id)
        return CancelledInstance(paths.instance_id, task.task_id, "not_cancelled", str(error))
    how = TaskEnd.CANCELLED if ended.how is TaskEnd.OVER and task.cancel_asked else ended.how
    if how not in CANCELLED:
        reporter.event(WHY[how], paths.instance_id)
        return CancelledInstance(paths.instance_id, task.task_id, how.value, WHY[how])
    _record(ledger, paths, task, Ended(how, ended.record))
    leftovers = remove_rooms(run, paths.instance_id)
    reporter.event("; ".join([WHY[how], *leftovers]), paths.instance_id)
    return CancelledInstance(paths.instance_id, task.task_id, how.value, WHY[how], tuple(leftovers))


def _record(ledger: Ledger, paths: InstancePaths, task: TaskCheckpoint, ended: Ended) -> None:
    record = ended.record
    if record is not None and record.final:
        write_json(paths.result, process_redactor().document(record.model_dump()))
    ledger.append(
        Row(
            benchmark=BENCHMARK,
            instance_id=paths.instance_id,
            status="failed",
            reason_code=CANCELLED_BY_OPERATOR,
            prediction_written=paths.submission.is_file(),
            output_paths=paths.outputs(),
            error=WHY[ended.how],
            # Not the infrastructure's doing: a resume must not undo what an operator decided.
            details={"task_id": task.task_id, "infrastructure": False, "task_end": ended.how.value},
            attempt=task.attempt,
            cost=cost_of(record) if record is not None else {},
        )
    )
    if record is not None:
        final = {"status": record.status, "task_result": record.model_dump() if record.final else None}
        CheckpointFile(paths.checkpoint).write(task.model_copy(update={"cancel_asked": True, **final}))
