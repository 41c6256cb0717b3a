"""One instance, from the question whether anything is left to do to its row in the ledger."""

import time
from dataclasses import dataclass, field

from obo_bench.core.files import write_json, write_text
from obo_bench.core.ledger import Row
from obo_bench.engine.cleanroom import CleanroomUnfit
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.lifecycle import SettledBy, Settlement, TaskLife, TaskRejected, cancel_quietly
from obo_bench.gateway.outcome import cost_of, judge
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.context import GRACE_SEC, RunContext
from obo_bench.programbench.decision import PACKAGING_FAILED, Decision, Step, decide
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.instruction import render_instruction
from obo_bench.programbench.room import NotReady, Room, clear_rooms, find_room, prepare_room, reference_facts
from obo_bench.programbench.rows import append_row, repeat_row
from obo_bench.programbench.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.task_body import build_task_body

_MAY_STILL_RUN = frozenset({SettledBy.TIMEOUT, SettledBy.UNREACHABLE, SettledBy.DETACHED})
"""Endings of the watch that are not endings of the task: its container stays."""
_RENEW_AFTER_SEC = 300.0
"""A container that waited so long for an idle worker gets its whole time to live again."""


@dataclass
class _Attempt:
    """One attempt under way."""

    context: RunContext
    instance: Instance
    number: int
    durations: dict[str, float] = field(default_factory=dict)
    task_may_live: bool = False
    """From the intent until the task has settled: only then it loses its container."""
    seen_healthy: bool = False
    """An earlier invocation saw the cleanroom in order when the task had settled, and removed it."""

    @property
    def id(self) -> str:
        return self.instance.instance_id


def run_instance(context: RunContext, instance: Instance) -> Row:
    """Bring one instance to its row; raises RuntimeAttestationRefused when the server is not the admitted one."""
    from docker.errors import DockerException

    context.paths(instance.instance_id).directory.mkdir(exist_ok=True)
    attempt = _Attempt(context, instance, 1)
    try:
        return _go(attempt, decide(context, instance.instance_id))
    except (GatewayError, DockerException) as error:
        # Whether a task is live is not known, so none is submitted (design I5); a resume asks again.
        return _failed(attempt, SettledBy.UNREACHABLE, str(error), infrastructure=True)
    except (NotReady, CleanroomUnfit) as error:
        reason = error.reason if isinstance(error, NotReady) else "cleanroom_preflight_failed"
        return append_row(
            context,
            attempt.id,
            "blocked",
            reason,
            attempt=attempt.number,
            error=str(error),
            details={"infrastructure": not isinstance(error, NotReady) or error.infrastructure},
            durations=attempt.durations,
        )


def _go(attempt: _Attempt, decision: Decision) -> Row:
    context, row = attempt.context, decision.row
    attempt.number = decision.attempt
    if decision.step is Step.SKIP and row is not None:
        return repeat_row(context, row, "skipped", "skipped_existing_submission", "already done")
    if decision.step is Step.KEEP and row is not None:
        return repeat_row(
            context, row, row.status, row.reason_code, f"not solved again without --retry {row.reason_code}"
        )
    if decision.step is Step.ATTACH and decision.checkpoint is not None:
        attempt.seen_healthy = (
            row is not None and row.reason_code == PACKAGING_FAILED and row.details.get("cleanroom_trouble") is None
        )
        return _attach(attempt, decision.checkpoint)
    return _solve(attempt, repost=decision.step is Step.REPOST)


def _solve(attempt: _Attempt, *, repost: bool) -> Row:
    context, number = attempt.context, attempt.number
    clear_rooms(context, attempt.instance, number)
    context.paths(attempt.id).set_attempt_aside(number if repost else number - 1)
    started = time.monotonic()
    room = prepare_room(context, attempt.instance, number)
    attempt.durations["prepare"] = time.monotonic() - started
    try:
        body = _write_task(attempt, room)
        if context.options.dry_run:
            return append_row(
                context,
                attempt.id,
                "completed",
                "dry_run",
                attempt=number,
                details={"protection": room.protection},
                durations=attempt.durations,
            )
        life = _life(attempt, room)
        checkpoint = TaskCheckpoint(task_id=str(body["task_id"]), attempt=number, container=room.cleanroom.spec.name)
        submitted = _submit(attempt, life, body, checkpoint, room)
        return submitted if isinstance(submitted, Row) else _watch(attempt, life, submitted, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance, number)


def _attach(attempt: _Attempt, checkpoint: TaskCheckpoint) -> Row:
    context = attempt.context
    room = find_room(context, attempt.instance, checkpoint.attempt)
    context.reporter.event(f"going on with task {checkpoint.task_id} ({checkpoint.status})", attempt.id)
    record = context.gateway.task(checkpoint.task_id)
    if room is None and (record is None or not record.final):
        cancel_quietly(context.gateway, checkpoint.task_id)
        clear_rooms(context, attempt.instance, attempt.number)
        return _failed(attempt, SettledBy.EXECUTOR_LOST, "the cleanroom of the live task is gone", infrastructure=True)
    attempt.task_may_live = True
    try:
        return _watch(attempt, _life(attempt, room), checkpoint, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance, attempt.number)


def _write_task(attempt: _Attempt, room: Room) -> dict[str, object]:
    context, options, paths = attempt.context, attempt.context.options, attempt.context.paths(attempt.id)
    protected = options.protected_paths or DEFAULT_PROTECTED_PATHS
    instruction = render_instruction(timeout_sec=options.timeout_sec, protected_paths=protected)
    body = build_task_body(
        instance_id=attempt.id,
        task_id=context.task_id(attempt.id, attempt.number),
        description=instruction,
        workspace=paths.workspace,
        container_name=room.cleanroom.spec.name,
        image=room.cleanroom.spec.image,
        timeout_sec=options.timeout_sec,
        protected_paths=protected,
    )
    write_text(paths.instruction, instruction)
    write_json(paths.body, body)
    return body


def _submit(
    attempt: _Attempt, life: TaskLife, body: dict[str, object], checkpoint: TaskCheckpoint, room: Room
) -> TaskCheckpoint | Row:
    context = attempt.context
    with context.submitting:
        attempt.durations["queued"] = context.wait_for_idle_worker()
        if context.stop.is_set():
            return append_row(context, attempt.id, "not_attempted", "interrupted", attempt=attempt.number)
        if attempt.durations["queued"] > _RENEW_AFTER_SEC:
            room.cleanroom.renew()
        context.confirm_server()
        attempt.task_may_live = True
        try:
            return life.submit(body, checkpoint)
        except TaskRejected as rejected:
            attempt.task_may_live = False
            reason = "workspace_not_visible" if "not a directory" in str(rejected) else "submission_rejected"
            return _failed(attempt, reason, str(rejected), infrastructure=True)
        except GatewayError as error:
            return _failed(attempt, SettledBy.UNREACHABLE, str(error), infrastructure=True)


def _watch(attempt: _Attempt, life: TaskLife, checkpoint: TaskCheckpoint, room: Room | None) -> Row:
    started = time.monotonic()
    settlement = life.watch(checkpoint, attempt.context.options.timeout_sec + GRACE_SEC)
    attempt.durations["solve"] = time.monotonic() - started
    attempt.task_may_live = settlement.by in _MAY_STILL_RUN
    if settlement.by is SettledBy.FINAL and settlement.record is not None:
        return _settled(attempt, life, settlement.record, checkpoint, room)
    return _unsettled(attempt, settlement, checkpoint)


def _unsettled(attempt: _Attempt, settlement: Settlement, checkpoint: TaskCheckpoint) -> Row:
    detail = settlement.detail or f"left to the server as task {checkpoint.task_id}"
    return _failed(attempt, settlement.by, detail, infrastructure=True)


def _settled(
    attempt: _Attempt, life: TaskLife, record: TaskRecord, checkpoint: TaskCheckpoint, room: Room | None
) -> Row:
    context, paths = attempt.context, attempt.context.paths(attempt.id)
    write_json(paths.result, context.session.redactor.document(record.model_dump()))
    outcome = judge(record)
    cost = cost_of(record, life.final_cost(checkpoint.task_id))
    gone = None if attempt.seen_healthy else "the cleanroom was gone when the task was picked up"
    trouble = room.cleanroom.trouble() if room is not None else gone
    details = {
        "task_id": checkpoint.task_id,
        "server_reason": outcome.reason,
        "infrastructure": outcome.infrastructure,
        "degraded": outcome.degraded or trouble is not None,
        "protection": reference_facts(context, attempt.instance)[1],
        "cleanroom_trouble": trouble,
    }
    if not outcome.completed:
        return append_row(
            context,
            attempt.id,
            "failed",
            outcome.reason,
            attempt=attempt.number,
            error=(record.result or "")[:500],
            details=details,
            durations=attempt.durations,
            cost=cost,
        )
    return _package(attempt, details, cost)


def _package(attempt: _Attempt, details: dict[str, object], cost: dict[str, object]) -> Row:
    context, paths = attempt.context, attempt.context.paths(attempt.id)
    started = time.monotonic()
    try:
        submission = package_workspace(
            paths.workspace,
            paths.directory,
            protected_paths=context.options.protected_paths or DEFAULT_PROTECTED_PATHS,
            reference_sha256=reference_facts(context, attempt.instance)[0] or None,
        )
    except (SubmissionFailed, OSError) as error:
        return append_row(
            context,
            attempt.id,
            "failed",
            PACKAGING_FAILED,
            attempt=attempt.number,
            error=str(error),
            details=details,
            durations=attempt.durations,
            cost=cost,
        )
    attempt.durations["package"] = time.monotonic() - started
    return append_row(
        context,
        attempt.id,
        "completed",
        "submission_prepared",
        attempt=attempt.number,
        details=details,
        submission_sha256=submission.sha256,
        durations=attempt.durations,
        cost=cost,
    )


def _failed(attempt: _Attempt, reason: str, error: str, *, infrastructure: bool) -> Row:
    return append_row(
        attempt.context,
        attempt.id,
        "failed",
        str(reason),
        attempt=attempt.number,
        error=error,
        details={"infrastructure": infrastructure},
        durations=attempt.durations,
    )


def _life(attempt: _Attempt, room: Room | None) -> TaskLife:
    context = attempt.context
    return TaskLife(
        context.gateway,
        CheckpointFile(context.paths(attempt.id).checkpoint),
        context.reporter,
        subject=attempt.id,
        stop=context.stop,
        executor_trouble=room.cleanroom.trouble if room is not None else lambda: None,
    )
