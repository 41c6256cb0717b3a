"""How an invocation ended: the typed outcome for the manifest, and the status the process must exit with."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.core.files import read_json_object
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, ExitCode, Refusal
from obo_bench.core.signals import Interrupted

if TYPE_CHECKING:
    from obo_bench.core.manifest import Outcome, RefusalRecord
    from obo_bench.core.session import Session

_last: list[Path] = []


def describe(session: "Session", error: BaseException | None) -> None:
    """Fill outcome, exit status, refusal and error of the session's manifest."""
    from obo_bench.core.manifest import ErrorRecord

    extra = session.manifest.extra
    outcome, status = (session.outcome, session.exit_code) if error is None else _of_error(error, session.outcome)
    extra.outcome, extra.exit_code = outcome, status
    if isinstance(error, Refusal):
        extra.refusal = refusal_record(error)
    elif error is not None:
        extra.error = ErrorRecord(type=type(error).__name__, message=str(error))


def refusal_record(refusal: Refusal) -> "RefusalRecord":
    """Return the refusal as it is written to the manifest and to the result envelope."""
    from obo_bench.core.manifest import RefusalRecord

    return RefusalRecord(
        stage=refusal.stage.value,
        reason=refusal.reason,
        exit_code=refusal.exit_code,
        message=refusal.message,
        remedy=refusal.remedy,
        evidence=refusal.evidence,
    )


def publish(manifest: Path) -> None:
    """Remember the finalized manifest, from which the process reads its exit status."""
    _last[:] = [manifest]


def concluded() -> dict[str, Any] | None:
    """Return the finalized manifest of this process as it is on disk, or None when no command was recorded."""
    return read_json_object(_last[0]) if _last else None


def manifest_path() -> Path | None:
    """Return where the finalized manifest is."""
    return _last[0] if _last else None


def reset() -> None:
    """Forget an earlier invocation in the same process."""
    _last.clear()


def is_campaign_fatal(error: BaseException) -> bool:
    """Say whether a refusal holds for every remaining task."""
    return isinstance(error, Refusal) and error.reason in CAMPAIGN_FATAL_PROVENANCE_REASONS


def _of_error(error: BaseException, intended: "Outcome") -> tuple["Outcome", int]:
    if isinstance(error, Refusal):
        return "refused", error.exit_code
    if isinstance(error, Interrupted):
        return "interrupted", error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", ExitCode.SIGINT
    if isinstance(error, SystemExit):
        return _of_system_exit(error, intended)
    return "crashed", ExitCode.CRASHED


def _of_system_exit(error: SystemExit, intended: "Outcome") -> tuple["Outcome", int]:
    """An integer from below stays what it is; a text is what Python makes of it: status 1."""
    if error.code is None or error.code == 0:
        return intended, ExitCode.OK
    status = error.code if isinstance(error.code, int) else int(ExitCode.FAILED)
    return "crashed" if status == ExitCode.CRASHED else "child_failed", status & 0xFF
