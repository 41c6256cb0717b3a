"""From a task that has been submitted to the row that tells how it ended: watched, cancelled or packaged."""

import time
from contextlib import suppress
from dataclasses import replace

from obo_bench.core.files import write_json
from obo_bench.core.ledger import Row
from obo_bench.core.run_changes import Phase
from obo_bench.engine.trouble import is_disk_full
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.cost import cost_of, running_cost
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.lifecycle import TaskLife
from obo_bench.gateway.outcome import judge
from obo_bench.gateway.settlement import SettledBy, Settlement
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.context import GRACE_SEC
from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS, REFUSED_WHEN_STRICT
from obo_bench.programbench.packaging.submission import (
    SubmissionFailed,
    SubmissionRecord,
    SubmissionSuspect,
    package_workspace,
)
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.endings import PACKAGING_FAILED
from obo_bench.programbench.solving.evidence import commands_seen, tool_errors
from obo_bench.programbench.solving.executor_watch import ExecutorWatch
from obo_bench.programbench.solving.operator_cancel import cancel_task
from obo_bench.programbench.solving.reclaim import reclaim_workspace
from obo_bench.programbench.solving.room import Room, reference_facts, reference_traces

_MAY_STILL_RUN = frozenset({SettledBy.TIMEOUT, SettledBy.UNREACHABLE, SettledBy.DETACHED})
"""Endings of the watch that are not endings of the task: its container stays."""

_MOST_LISTED = 20
"""Files that a row names; submission.json names all."""


def watch_task(attempt: Attempt, life: TaskLife, checkpoint: TaskCheckpoint, room: Room | None) -> Row:
    """Wait for the task to settle and return the attempt's row."""
    started = time.monotonic()
    attempt.context.at(attempt.id, Phase.RUNNING, checkpoint.task_id)
    settlement = life.watch(checkpoint, attempt.context.options.timeout_sec + GRACE_SEC)
    attempt.durations["solve"] = time.monotonic() - started
    attempt.context.at(attempt.id, Phase.SETTLING)
    attempt.task_may_live = settlement.by in _MAY_STILL_RUN
    if settlement.by is SettledBy.FINAL and settlement.record is not None:
        return _settled(attempt, life, settlement.record, checkpoint, room)
    if settlement.by is SettledBy.DETACHED and attempt.context.cancelling:
        end = cancel_task(attempt, checkpoint)
        return end if isinstance(end, Row) else _settled(attempt, life, end, checkpoint, room)
    if not attempt.task_may_live:
        settlement = replace(settlement, record=_record_after_cancel(attempt, settlement, checkpoint))
    if settlement.record is not None and settlement.record.status == "completed":
        # It was faster than the cancel: what is finished is packaged, with what was wrong on record.
        return _settled(attempt, life, settlement.record, checkpoint, room)
    return ended_row(attempt, settlement, checkpoint)


def ended_row(attempt: Attempt, settlement: Settlement, checkpoint: TaskCheckpoint) -> Row:
    """Return the row of a watch that ended before the task had settled by itself."""
    detail = settlement.detail or f"left to the server as task {checkpoint.task_id}"
    facts = {"executor": dict(settlement.facts)} if settlement.facts else {}
    record = settlement.record
    if record is not None and record.final:
        # Without it, whether the cancelled task still runs would be an open question.
        ended = {"status": record.status, "task_result": record.excerpt()}
        CheckpointFile(attempt.context.paths(attempt.id).checkpoint).write(checkpoint.model_copy(update=ended))
    if not attempt.task_may_live:
        reclaim_workspace(attempt)
    cost = (running_cost(record) if record is not None else None) or {}
    return attempt.row("failed", str(settlement.by), error=detail, details={"infrastructure": True, **facts}, cost=cost)


def _record_after_cancel(attempt: Attempt, settlement: Settlement, checkpoint: TaskCheckpoint) -> TaskRecord | None:
    """Return what the server says of a task that was cancelled: its account is closed by now."""
    with suppress(GatewayError):
        return attempt.context.gateway.task(checkpoint.task_id) or settlement.record
    return settlement.record


def _settled(
    attempt: Attempt, life: TaskLife, record: TaskRecord, checkpoint: TaskCheckpoint, room: Room | None
) -> Row:
    context, paths = attempt.context, attempt.context.paths(attempt.id)
    write_json(paths.result, context.session.redactor.document(record.model_dump()))
    if attempt.resumed_task and (ended := record.changed_unix) is not None:
        attempt.resumed_task["ended_unix"] = ended
    outcome = judge(record)
    cost = cost_of(record, life.final_cost(checkpoint.task_id))
    trouble = _executor_trouble(attempt, life, room, checkpoint.task_id)
    details = {
        "task_id": checkpoint.task_id,
        "server_reason": outcome.reason,
        "infrastructure": outcome.infrastructure,
        "degraded": outcome.degraded or trouble is not None,
        "protection": reference_facts(context, attempt.instance)[1],
        "cleanroom_trouble": trouble,
        "commands": commands_seen(room),
        "tool_errors": context.session.redactor.document(tool_errors(record)),
    }
    reclaim_workspace(attempt)
    if not outcome.completed:
        return attempt.row("failed", outcome.reason, error=(record.result or "")[:500], details=details, cost=cost)
    return _package(attempt, details, cost)


def _executor_trouble(attempt: Attempt, life: TaskLife, room: Room | None, task_id: str) -> str | None:
    if room is None:
        return None if attempt.seen_healthy else "the cleanroom was gone when the task was picked up"
    trouble = life.executor_trouble(task_id)
    return trouble.detail if trouble is not None else None


def _package(attempt: Attempt, details: dict[str, object], cost: dict[str, object]) -> Row:
    context, paths = attempt.context, attempt.context.paths(attempt.id)
    started = time.monotonic()
    context.at(attempt.id, Phase.PACKAGING)
    try:
        submission = package_workspace(
            paths.workspace,
            paths.directory,
            protected_paths=context.options.protected_paths or DEFAULT_PROTECTED_PATHS,
            reference=reference_traces(context, attempt.instance),
            strict=context.options.strict,
        )
    except (SubmissionFailed, OSError) as error:
        details["disk_full"] = is_disk_full(error)
        if isinstance(error, SubmissionSuspect):
            details["refused_files"] = [note.document() for note in error.flagged[:_MOST_LISTED]]
        return attempt.row("failed", PACKAGING_FAILED, error=str(error), details=details, cost=cost)
    _tell(attempt, submission, details)
    attempt.durations["package"] = time.monotonic() - started
    return attempt.row(
        "completed", "submission_prepared", details=details, submission_sha256=submission.sha256, cost=cost
    )


def _tell(attempt: Attempt, submission: SubmissionRecord, details: dict[str, object]) -> None:
    """Let the operator see what is odd about a submission; none of it decides what it is worth."""
    details["submission_warnings"] = [str(warning) for warning in submission.warnings]
    details["flagged"] = [note.document() for note in submission.flagged[:_MOST_LISTED]]
    for warning in submission.warnings:
        attempt.context.reporter.event(f"warning: {warning}, see submission.json", attempt.id)
    suspect = [note for note in submission.flagged if note.reason in REFUSED_WHEN_STRICT]
    if suspect:
        attempt.context.reporter.event(
            f"warning: {len(suspect)} files may hold the reference, such as {suspect[0].path!r} ({suspect[0].reason})",
            attempt.id,
        )


def life_of(attempt: Attempt, room: Room | None, *, begun: bool) -> TaskLife:
    """Return what drives the attempt's task; `room` is None where its container is gone.

    `begun` says that the task may have run commands before.
    """
    context = attempt.context
    watch = ExecutorWatch(room.cleanroom, context.gateway, context.reporter, begun=begun) if room is not None else None
    return TaskLife(
        context.gateway,
        CheckpointFile(context.paths(attempt.id).checkpoint),
        context.reporter,
        subject=attempt.id,
        stop=context.stop,
        executor=watch,
    )
