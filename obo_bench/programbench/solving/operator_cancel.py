"""`--on-interrupt cancel`: end a running task at the server, and make sure that it is over."""

from obo_bench.core.files import write_json
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.cost import cost_of
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.leftovers.cancel import CANCELLED, WHY
from obo_bench.programbench.leftovers.run_lookup import RecordedRun
from obo_bench.programbench.leftovers.run_server import FINALIZING_SEC, SETTLE_SEC, Ended, RunServer
from obo_bench.programbench.solving.attempt import INTERRUPTED, Attempt
from obo_bench.programbench.solving.endings import CANCELLED_BY_OPERATOR

AT_MOST_SEC = FINALIZING_SEC + SETTLE_SEC
"""How long the end of a task is waited for."""


def cancel_task(attempt: Attempt, checkpoint: TaskCheckpoint) -> Row | TaskRecord:
    """Cancel the attempt's task; returns its row, or the record of a task that had ended by itself meanwhile.

    One that cannot be cancelled for certain is `interrupted`: it may still run, and keeps its container.
    """
    attempt.context.reporter.event(f"cancelling task {checkpoint.task_id}", attempt.id)
    try:
        ended = _end(attempt, checkpoint)
    except GatewayError as error:
        return _not_cancelled(attempt, str(error))
    except PreflightRefused as refusal:
        refusal.settle()
        return _not_cancelled(attempt, refusal.message)
    attempt.task_may_live = False
    if ended.how not in CANCELLED:
        assert ended.record is not None  # only a record tells that it ended by itself
        return ended.record
    return _cancelled(attempt, checkpoint, ended)


def _end(attempt: Attempt, checkpoint: TaskCheckpoint) -> Ended:
    context = attempt.context
    run = RecordedRun(context.session.run_root, context.nonce, context.session.manifest.document())
    with RunServer(run, context.gateway.base_url) as server:
        return server.end(checkpoint.task_id, announce=lambda: _store(attempt, checkpoint, cancel_asked=True))


def _cancelled(attempt: Attempt, checkpoint: TaskCheckpoint, ended: Ended) -> Row:
    context, record = attempt.context, ended.record
    if record is not None:
        final = record.model_dump() if record.final else None
        if final is not None:
            write_json(context.paths(attempt.id).result, context.session.redactor.document(final))
        _store(attempt, checkpoint, cancel_asked=True, status=record.status, task_result=final)
    return attempt.row(
        "failed",
        CANCELLED_BY_OPERATOR,
        error=WHY[ended.how],
        # Not the infrastructure's doing: a resume must not undo what an operator decided.
        details={"task_id": checkpoint.task_id, "infrastructure": False, "task_end": ended.how.value},
        cost=cost_of(record) if record is not None else {},
    )


def _not_cancelled(attempt: Attempt, why: str) -> Row:
    return attempt.failed(INTERRUPTED, f"not cancelled, it may still run and spend: {why}", infrastructure=True)


def _store(attempt: Attempt, checkpoint: TaskCheckpoint, **changes: object) -> None:
    file = CheckpointFile(attempt.context.paths(attempt.id).checkpoint)
    file.write((file.read() or checkpoint).model_copy(update=changes))
