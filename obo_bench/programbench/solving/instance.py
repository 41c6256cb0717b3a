"""One instance, from the question whether anything is left to do to its row in the ledger."""

import time
from contextlib import suppress

from obo_bench.core.files import write_json, write_text
from obo_bench.core.ledger import Row, Status
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.run_changes import Phase
from obo_bench.core.wire_format import LaterWord
from obo_bench.engine.cleanroom import CleanroomUnfit
from obo_bench.engine.images import PullAbandoned
from obo_bench.engine.trouble import engine_errors
from obo_bench.gateway.checkpoint import TaskCheckpoint
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.lifecycle import TaskLife, TaskRejected, record_of, retire
from obo_bench.gateway.settlement import SettledBy, Settlement
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.rows import repeat_row
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.decision import Decision, Step, decide
from obo_bench.programbench.solving.earlier import blocked_row, cancelled_row, record_left_task
from obo_bench.programbench.solving.endings import PACKAGING_FAILED
from obo_bench.programbench.solving.idle_workers import NoWorkers
from obo_bench.programbench.solving.instruction import render_instruction
from obo_bench.programbench.solving.not_ready import DISK_LOW, NotReady, reason_of
from obo_bench.programbench.solving.reclaim import reclaim_workspace
from obo_bench.programbench.solving.room import Room, clear_rooms, find_room, prepare_room
from obo_bench.programbench.solving.settle import ended_row, life_of, watch_task
from obo_bench.programbench.solving.spending import STOPPED_BUDGET
from obo_bench.programbench.solving.task_body import build_task_body

_UNSEEN = ("is not a directory", "must be a git worktree root", "must be the git worktree root")
"""What a server says of a workspace that exists here, but not where it looks, or not for its user."""
_RENEW_AFTER_SEC = 300.0
"""A container that waited so long for an idle worker gets its whole time to live again."""


def run_instance(context: RunContext, instance: Instance) -> Row:
    """Bring one instance to its row.

    Raises RuntimeAttestationRefused when the server is not the admitted one, PreflightRefused when it cannot see what
    we give it: both hold for every other instance.
    """
    attempt = context.attempts[instance.instance_id] = Attempt(context, instance, 1)
    if context.closed.is_set():
        return attempt.not_attempted()
    context.paths(instance.instance_id).directory.mkdir(exist_ok=True)
    context.at(instance.instance_id, Phase.WAITING)
    try:
        decision = _decide(attempt)
        return _go(attempt, decision) if decision is not None else attempt.not_attempted()
    except PullAbandoned:
        return attempt.not_attempted()
    except GatewayError as error:
        # Whether a task is live is not known, so none is submitted (design I5); a resume asks again.
        return attempt.failed(SettledBy.UNREACHABLE, str(error), infrastructure=True)
    except (NotReady, NoWorkers) as error:
        return _blocked(attempt, error.reason, error, infrastructure=error.infrastructure)
    except engine_errors(CleanroomUnfit) as error:
        return _engine_failed(attempt, error)


def _engine_failed(attempt: Attempt, error: Exception) -> Row:
    reason = reason_of(attempt.context, error, "cleanroom_preflight_failed")
    if not attempt.task_was_made:
        return _blocked(attempt, reason, error, infrastructure=True)
    details = {"infrastructure": True, "engine": reason}
    return attempt.row("failed", SettledBy.UNREACHABLE.value, error=str(error), details=details)


def _blocked(attempt: Attempt, reason: str, error: Exception, *, infrastructure: bool) -> Row:
    return attempt.row("blocked", reason, error=str(error), details={"infrastructure": infrastructure})


def _decide(attempt: Attempt) -> Decision | None:
    """Return the next step, waiting for a server that is away; None when the run ends first."""
    context = attempt.context
    try:
        return decide(context, attempt.id)
    except GatewayError as error:
        context.reporter.event(f"cannot tell yet what is left to do: {error}", attempt.id)
        return decide(context, attempt.id) if context.admitted.confirm(context.closed) else None


def _go(attempt: Attempt, decision: Decision) -> Row:
    context = attempt.context
    attempt.number = decision.attempt
    # What a server said of an earlier task: another one's word must not cost a live task.
    if decision.checkpoint is not None and not context.admitted.confirm(context.closed):
        return attempt.not_attempted()
    if (row := _without_work(attempt, decision)) is not None:
        return row
    if decision.step is Step.ATTACH and decision.checkpoint is not None:
        row = decision.row
        attempt.seen_healthy = (
            row is not None and row.reason_code == PACKAGING_FAILED and row.details.get("cleanroom_trouble") is None
        )
        return _attach(attempt, decision.checkpoint)
    record_left_task(attempt, decision)
    return _solve(attempt, repost=decision.step is Step.REPOST)


def _without_work(attempt: Attempt, decision: Decision) -> Row | None:
    """Return the row of an instance that needs nothing but its row, else None."""
    row = decision.row
    if decision.step is Step.SKIP and row is not None:
        return _repeated(attempt, row, "skipped", "skipped_existing_submission", "already done")
    if decision.step is Step.KEEP and row is not None:
        why = f"not solved again without --retry {row.reason_code}"
        return _repeated(attempt, row, row.status, row.reason_code, why)
    if decision.step is Step.HELD:
        return attempt.not_attempted(STOPPED_BUDGET)
    if decision.step is Step.BLOCK:
        return blocked_row(attempt, decision)
    return cancelled_row(attempt, decision) if decision.step is Step.CANCELLED else None


def _repeated(attempt: Attempt, row: Row, status: Status | LaterWord, reason: str, why: str) -> Row:
    # A kill after the row came before the room was removed.
    clear_rooms(attempt.context, attempt.instance)
    return attempt.end(lambda: repeat_row(attempt.context, row, status, reason, why))


def _solve(attempt: Attempt, *, repost: bool) -> Row:
    context, number = attempt.context, attempt.number
    if context.spending.why_not():
        return attempt.not_attempted(STOPPED_BUDGET)
    if (shortage := context.disk.shortage() if context.disk is not None else None) is not None:
        raise NotReady(DISK_LOW, shortage)
    clear_rooms(context, attempt.instance)
    # An attempt that was killed could not do it.
    reclaim_workspace(attempt)
    context.paths(attempt.id).set_attempt_aside(number if repost else number - 1)
    started = time.monotonic()
    room = prepare_room(context, attempt.instance, number)
    attempt.durations["prepare"] = time.monotonic() - started
    try:
        body = _write_task(attempt, room)
        if context.options.dry_run:
            return attempt.row("completed", "dry_run", details={"protection": room.protection})
        life = life_of(attempt, room, begun=False)
        checkpoint = TaskCheckpoint(task_id=str(body["task_id"]), attempt=number, container=room.cleanroom.spec.name)
        submitted = _submit(attempt, life, body, checkpoint, room)
        return submitted if isinstance(submitted, Row) else watch_task(attempt, life, submitted, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance)


def _attach(attempt: Attempt, checkpoint: TaskCheckpoint) -> Row:
    context = attempt.context
    attempt.task_made()
    if checkpoint.submitted_unix is not None:
        attempt.resumed_task["submitted_unix"] = checkpoint.submitted_unix
    context.spending.begin(attempt.id, checkpoint.attempt, checkpoint.task_id)
    room = find_room(context, attempt.instance, checkpoint.attempt)
    context.reporter.event(f"going on with task {checkpoint.task_id} ({checkpoint.status})", attempt.id)
    record = record_of(context.gateway, checkpoint)
    if room is None and (record is None or not record.final):
        lost = _lost_its_room(attempt, checkpoint)
        if lost is not None:
            return lost
    context.workspaces_seen = True
    try:
        return watch_task(attempt, life_of(attempt, room, begun=True), checkpoint, room)
    finally:
        if not attempt.task_may_live:
            clear_rooms(context, attempt.instance)


def _lost_its_room(attempt: Attempt, checkpoint: TaskCheckpoint) -> Row | None:
    """End a live task whose cleanroom is gone and return its row; None when it has completed meanwhile."""
    context, record = attempt.context, None
    with suppress(GatewayError):
        record = retire(context.gateway, checkpoint.task_id)
    if record is not None and record.status == "completed":
        return None
    attempt.task_may_live = False
    clear_rooms(context, attempt.instance)
    return ended_row(
        attempt, Settlement(SettledBy.EXECUTOR_LOST, record, "the cleanroom of the live task is gone"), checkpoint
    )


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
    context, started = attempt.context, time.monotonic()
    context.at(attempt.id, Phase.WORKER)
    with context.idle_workers.reserve(context.admitted, context.closed, context.reporter) as reserved:
        attempt.durations["queued"] = time.monotonic() - started
        if not reserved:
            return attempt.not_attempted()
        if attempt.durations["queued"] > _RENEW_AFTER_SEC:
            room.cleanroom.renew()
        if not context.admitted.confirm(context.closed) or context.closed.is_set():
            return attempt.not_attempted()
        if context.spending.why_not():
            return attempt.not_attempted(STOPPED_BUDGET)
        return _post(attempt, life, body, checkpoint)


def _post(
    attempt: Attempt, life: TaskLife, body: dict[str, object], checkpoint: TaskCheckpoint
) -> TaskCheckpoint | Row:
    context = attempt.context
    attempt.task_made()
    context.spending.begin(attempt.id, attempt.number, checkpoint.task_id)
    context.at(attempt.id, Phase.SUBMITTED, checkpoint.task_id)
    try:
        submitted = life.submit(body, checkpoint)
    except TaskRejected as rejected:
        attempt.task_was_made = attempt.task_may_live = False
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
