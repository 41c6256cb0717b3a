"""One instance, from the question whether anything is left to do to its row in the ledger."""

import time

from obo_bench.core.files import write_json, write_text
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.cleanroom import CleanroomUnfit
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.lifecycle import SettledBy, Settlement, TaskLife, TaskRejected, cancel_quietly
from obo_bench.gateway.outcome import cost_of, judge
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.attempt import Attempt
from obo_bench.programbench.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.context import GRACE_SEC, RunContext
from obo_bench.programbench.decision import PACKAGING_FAILED, Decision, Step, decide
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.instruction import render_instruction
from obo_bench.programbench.room import NotReady, Room, clear_rooms, find_room, prepare_room, reference_facts
from obo_bench.programbench.rows import repeat_row
from obo_bench.programbench.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.task_body import build_task_body

_MAY_STILL_RUN = frozenset({SettledBy.TIMEOUT, SettledBy.UNREACHABLE, SettledBy.DETACHED})
"""Endings of the watch that are not endings of the task: its container stays."""
_OF_THE_SERVER = frozenset({Step.ATTACH, Step.REPOST})
"""Steps that rest on what the server said of an earlier task: another server's word must not cost a live one."""
_UNSEEN = ("is not a directory", "must be a git worktree root", "must be the git worktree root")
"""What a server says of a workspace that exists here, but not where it looks, or not for its user."""
_RENEW_AFTER_SEC = 300.0
"""A container that waited so long for an idle worker gets its whole time to live again."""


def run_instance(context: RunContext, instance: Instance) -> Row:
    """Bring one instance to its row.

    Raises RuntimeAttestationRefused when the server is not the admitted one, PreflightRefused when it cannot see what
    we give it: both hold for every other instance.
    """
    from docker.errors import DockerException

    context.paths(instance.instance_id).directory.mkdir(exist_ok=True)
    attempt = Attempt(context, instance, 1)
    try:
        decision = _decide(attempt)
        return _go(attempt, decision) if decision is not None else attempt.not_attempted()
    except (GatewayError, DockerException) as error:
        # Whether a task is live is not known, so none is submitted (design I5); a resume asks again.
        return attempt.failed(SettledBy.UNREACHABLE, str(error), infrastructure=True)
    except (NotReady, CleanroomUnfit) as error:
        reason = error.reason if isinstance(error, NotReady) else "cleanroom_preflight_failed"
        return attempt.row(
            "blocked",
            reason,
            error=str(error),
            details={"infrastructure": not isinstance(error, NotReady) or error.infrastructure},
        )


def _decide(attempt: Attempt) -> Decision | None:
    """Return the next step, waiting for a server that is away; None when the run ends first."""
    context = attempt.context
    try:
        return decide(context, attempt.id)
    except GatewayError as error:
        context.reporter.event(f"cannot tell yet what is left to do: {error}", attempt.id)
        return decide(context, attempt.id) if context.admitted.confirm(context.stop) else None


def _go(attempt: Attempt, decision: Decision) -> Row:
    context, row = attempt.context, decision.row
    attempt.number = decision.attempt
    if decision.step is Step.SKIP and row is not None:
        return repeat_row(context, row, "skipped", "skipped_existing_submission", "already done")
    if decision.step is Step.KEEP and row is not None:
        return repeat_row(
            context, row, row.status, row.reason_code, f"not solved again without --retry {row.reason_code}"
        )
    if decision.step in _OF_THE_SERVER and not context.admitted.confirm(context.stop):
        return attempt.not_attempted()
    if decision.step is Step.ATTACH and decision.checkpoint is not None:
        attempt.seen_healthy = (
            row is not None and row.reason_code == PACKAGING_FAILED and row.details.get("cleanroom_trouble") is None
        )
        return _attach(attempt, decision.checkpoint)
    return _solve(attempt, repost=decision.step is Step.REPOST)


def _solve(attempt: Attempt, *, repost: bool) -> Row:
    context, number = attempt.context, attempt.number
    clear_rooms(context, attempt.instance, number)
    context.paths(attempt.id).set_attempt_aside(number if repost else number - 1)
    started = time.monotonic()
    room = prepare_room(context, attempt.instance, number)
    attempt.durations["prepare"] = time.monotonic() - started
    try:
        body = _write_task(attempt, room)
        if context.options.dry_run:
            return attempt.row("completed", "dry_run", details={"protection": room.protection})
        life = _life(attempt, room)
        checkpoint = TaskCheckpoint(task_id=str(body["task_id"]), attempt=number, container=room.cleanroom.spec.name)
        submitted = _submit(attempt, life, body, checkpoint, room)
        return submitted if isinstance(submitted, Row) else _watch(attempt, life, submitted, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance, number)


def _attach(attempt: Attempt, checkpoint: TaskCheckpoint) -> Row:
    context = attempt.context
    room = find_room(context, attempt.instance, checkpoint.attempt)
    context.reporter.event(f"going on with task {checkpoint.task_id} ({checkpoint.status})", attempt.id)
    record = context.gateway.task(checkpoint.task_id)
    if room is None and (record is None or not record.final):
        cancel_quietly(context.gateway, checkpoint.task_id)
        clear_rooms(context, attempt.instance, attempt.number)
        return attempt.failed(SettledBy.EXECUTOR_LOST, "the cleanroom of the live task is gone", infrastructure=True)
    attempt.task_may_live = context.workspaces_seen = True
    try:
        return _watch(attempt, _life(attempt, room), checkpoint, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance, attempt.number)


def _write_task(attempt: Attempt, room: Room) -> dict[str, object]:
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
    attempt: Attempt, life: TaskLife, body: dict[str, object], checkpoint: TaskCheckpoint, room: Room
) -> TaskCheckpoint | Row:
    context = attempt.context
    with context.submitting:
        attempt.durations["queued"] = context.wait_for_idle_worker()
        if context.stop.is_set():
            return attempt.not_attempted()
        if attempt.durations["queued"] > _RENEW_AFTER_SEC:
            room.cleanroom.renew()
        if not context.admitted.confirm(context.stop):
            return attempt.not_attempted()
        attempt.task_may_live = True
        try:
            submitted = life.submit(body, checkpoint)
        except TaskRejected as rejected:
            attempt.task_may_live = False
            return _rejected(attempt, str(rejected))
        except GatewayError as error:
            return attempt.failed(SettledBy.UNREACHABLE, str(error), infrastructure=True)
        context.workspaces_seen = True
        return submitted


def _rejected(attempt: Attempt, said: str) -> Row:
    """Return the row of a task that the server would not take; one that sees no workspace at all ends the run."""
    context, workspace = attempt.context, attempt.context.paths(attempt.id).workspace
    unseen = any(sign in said for sign in _UNSEEN) and (workspace / ".git").is_dir()
    if not unseen or context.workspaces_seen:
        reason = "workspace_not_visible" if unseen else "submission_rejected"
        return attempt.failed(reason, said, infrastructure=True)
    context.halt("workspace_not_visible")
    raise PreflightRefused(
        "workspace_not_visible",
        f"the server at {context.gateway.base_url!r} does not see the workspace {str(workspace)!r}, a git worktree "
        f"here; it says: {said}",
        evidence={"workspace": str(workspace), "answer": said},
    )


def _watch(attempt: Attempt, life: TaskLife, checkpoint: TaskCheckpoint, room: Room | None) -> Row:
    started = time.monotonic()
    settlement = life.watch(checkpoint, attempt.context.options.timeout_sec + GRACE_SEC)
    attempt.durations["solve"] = time.monotonic() - started
    attempt.task_may_live = settlement.by in _MAY_STILL_RUN
    if settlement.by is SettledBy.FINAL and settlement.record is not None:
        return _settled(attempt, life, settlement.record, checkpoint, room)
    return _unsettled(attempt, settlement, checkpoint)


def _unsettled(attempt: Attempt, settlement: Settlement, checkpoint: TaskCheckpoint) -> Row:
    detail = settlement.detail or f"left to the server as task {checkpoint.task_id}"
    return attempt.failed(settlement.by, detail, infrastructure=True)


def _settled(
    attempt: Attempt, life: TaskLife, record: TaskRecord, checkpoint: TaskCheckpoint, room: Room | None
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
        return attempt.row("failed", outcome.reason, error=(record.result or "")[:500], details=details, cost=cost)
    return _package(attempt, details, cost)


def _package(attempt: Attempt, details: dict[str, object], cost: dict[str, object]) -> Row:
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
        return attempt.row("failed", PACKAGING_FAILED, error=str(error), details=details, cost=cost)
    attempt.durations["package"] = time.monotonic() - started
    return attempt.row(
        "completed", "submission_prepared", details=details, submission_sha256=submission.sha256, cost=cost
    )


def _life(attempt: Attempt, room: Room | None) -> TaskLife:
    context = attempt.context
    return TaskLife(
        context.gateway,
        CheckpointFile(context.paths(attempt.id).checkpoint),
        context.reporter,
        subject=attempt.id,
        stop=context.stop,
        executor_trouble=room.cleanroom.trouble if room is not None else lambda: None,
    )
