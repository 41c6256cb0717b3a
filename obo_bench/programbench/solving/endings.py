"""How an instance has ended, by its own ledger, and which endings a resume leaves alone.

| how it ended | a resume | with --retry |
|---|---|---|
| completed, and its archive is there | skips it, whatever its score | `degraded`: solves a degraded one again |
| completed, but its archive is gone or another | solves it again | |
| by the infrastructure (`details.infrastructure`) | solves it again | |
| by the agent, for ever (`image_not_found`), or ended by the operator | keeps it | its reason: solves it again |
| perhaps not at all (`REATTACHABLE`) | asks the server | |
"""

from obo_bench.core.files import sha256_file
from obo_bench.core.ledger import LEDGER_NAME, Row, read_rows
from obo_bench.programbench.paths import InstancePaths

PERMANENT = frozenset({"image_not_found"})
"""Reasons that a repetition cannot change."""
PACKAGING_FAILED = "submission_failed"
CANCELLED_BY_OPERATOR = "cancelled_by_operator"
CHECKPOINT_UNREADABLE = "checkpoint_unreadable"
TASK_UNKNOWN = "task_unknown_to_server"
DEGRADED = "degraded"
"""What `--retry` calls completed instances whose solve was not clean."""
REATTACHABLE = frozenset(
    {
        "client_poll_timeout_reattachable",
        "client_poll_error_reattachable",
        "interrupted",
        PACKAGING_FAILED,
        CHECKPOINT_UNREADABLE,
        TASK_UNKNOWN,
    }
)
"""Endings after which the task may still be live, or its finished work still waits to be packaged."""


def finished_row(paths: InstancePaths) -> Row | None:
    """Return the row that proves an instance done: completed, no dry run, and its archive is the one on disk."""
    completed = [
        row for row in read_rows(paths.directory / LEDGER_NAME) if row.status == "completed" and row.submission_sha256
    ]
    if not completed or not paths.submission.is_file():
        return None
    digest = sha256_file(paths.submission)
    return next((row for row in reversed(completed) if row.submission_sha256 == digest), None)


def last_ending(paths: InstancePaths, attempt: int | None = None) -> Row | None:
    """Return the last row that tells how an attempt ended (this one, if given), not that none ever began."""
    endings = [row for row in _endings(paths) if attempt in (None, row.attempt)]
    return endings[-1] if endings else None


def attempts_begun(paths: InstancePaths) -> int:
    """Return the highest attempt that the ledger knows, 0 for none: its number is never given to another task."""
    return max((row.attempt for row in _endings(paths)), default=0)


def is_kept(row: Row, retry: tuple[str, ...]) -> bool:
    """Say whether a resume leaves this ending alone: the agent's own failure, or a permanent reason."""
    if row.reason_code in retry or row.status in ("completed", "skipped"):
        # A completed one comes here only when its archive is gone or another.
        return False
    return row.reason_code in PERMANENT or not row.details.get("infrastructure", False)


def is_retried(done: Row, retry: tuple[str, ...]) -> bool:
    """Say whether a finished instance is solved again: a degraded one when asked for, a low score never."""
    return DEGRADED in retry and bool(done.details.get("degraded"))


def is_over(row: Row | None) -> bool:
    """Say whether a row of a task's own attempt tells that the task is over and leaves nothing to be fetched."""
    return row is not None and row.reason_code not in REATTACHABLE


def _endings(paths: InstancePaths) -> list[Row]:
    return [
        row
        for row in read_rows(paths.directory / LEDGER_NAME)
        if row.status != "not_attempted" and row.reason_code != "dry_run"
    ]
