"""How an invocation ended: the typed outcome for the manifest, and the status the process must exit with."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, ExitCode, Refusal
from obo_bench.core.signals import Interrupted

if TYPE_CHECKING:
    from obo_bench.core.manifest import ErrorRecord, Outcome, RefusalRecord
    from obo_bench.core.session import Session

LONGEST_MESSAGE = 4000
"""Characters of an error's text that are kept; the beginning says what it is."""


class HandedOn(SystemExit):
    """The status of a child process that has told its operator itself how it ended."""


_last: list[tuple[Path, dict[str, Any]]] = []


def describe(session: "Session", cause: BaseException | None, unsettled: Iterable[Refusal] = ()) -> None:
    """Fill outcome, exit status, refusal and error of the session's manifest."""
    extra = session.manifest.extra
    if cause is None or says_success(cause):
        extra.outcome, extra.exit_code = session.outcome, session.exit_code
    else:
        extra.outcome, extra.exit_code = outcome_of(cause), exit_status(cause)
        if isinstance(cause, Refusal):
            extra.refusal = refusal_record(cause)
        else:
            extra.error = error_record(cause)
    extra.swallowed_refusals = [refusal_record(refusal) for refusal in unsettled if refusal is not cause]


def refusal_record(refusal: Refusal) -> "RefusalRecord":
    """Return the refusal as it is written to the manifest and to the result envelope."""
    from obo_bench.core.manifest import RefusalRecord

    return RefusalRecord(
        stage=refusal.stage.value,
        reason=refusal.reason,
        exit_code=refusal.exit_code,
        message=refusal.message,
        remedy=refusal.remedy,
        evidence={str(name): value for name, value in refusal.evidence.items()},
    )


def error_record(error: BaseException) -> "ErrorRecord":
    """Return an error as it is written; a signal's says also what broke on the way out."""
    from obo_bench.core.manifest import ErrorRecord

    message = text_of(error)
    if isinstance(error, Interrupted) and error.__cause__ is not None:
        message += f"; on the way out {type(error.__cause__).__name__}: {text_of(error.__cause__)}"
    return ErrorRecord(type=type(error).__name__, message=message[:LONGEST_MESSAGE])


def text_of(error: BaseException) -> str:
    """Return an error's text, also when it cannot say it."""
    try:
        return str(error)[:LONGEST_MESSAGE]
    except Exception as trouble:  # noqa: BLE001  # foreign code: whatever it does, the ending must be recorded
        return f"(its text cannot be had: {type(trouble).__name__})"


def publish(manifest: Path, document: dict[str, Any]) -> None:
    """Remember the finalized manifest as it was written: from it the process takes its exit status.

    It is not read back: the run root may belong to the next invocation already.
    """
    _last[:] = [(manifest, document)]


def concluded() -> dict[str, Any] | None:
    """Return the manifest that this process finalized last, or None when no command was recorded."""
    return _last[0][1] if _last else None


def manifest_path() -> Path | None:
    """Return where the finalized manifest is."""
    return _last[0][0] if _last else None


def reset() -> None:
    """Forget an earlier invocation in the same process."""
    _last.clear()


def is_campaign_fatal(error: BaseException) -> bool:
    """Say whether a refusal holds for every remaining task."""
    return isinstance(error, Refusal) and error.reason in CAMPAIGN_FATAL_PROVENANCE_REASONS


def says_success(error: BaseException) -> bool:
    """Say whether it is a SystemExit that means a normal end: what was concluded before it stands."""
    return isinstance(error, SystemExit) and (
        error.code is None or (isinstance(error.code, int) and int(error.code) == ExitCode.OK)
    )


def exit_status(error: BaseException | None) -> int:
    """Return the status of a process that this error ends.

    An integer SystemExit from below stays what it is, in the eight bits that a process has; one that these would turn
    into a success becomes 1, and so does a text, as in Python itself.
    """
    if error is None or says_success(error):
        return int(ExitCode.OK)
    if isinstance(error, SystemExit):
        status = error.code & 0xFF if isinstance(error.code, int) else 0
        return status or int(ExitCode.FAILED)
    if isinstance(error, Refusal | Interrupted):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return int(ExitCode.SIGINT)
    return int(ExitCode.CRASHED)


def outcome_of(error: BaseException) -> "Outcome":
    """Return the typed outcome of an invocation that this error ends."""
    if isinstance(error, Refusal):
        return "refused"
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SystemExit) and exit_status(error) != ExitCode.CRASHED:
        return "child_failed"
    return "crashed"
