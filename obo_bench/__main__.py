"""`python -m obo_bench`: the only place that turns an ending into an exit status.

For a recorded command that status is taken from the manifest as it was written, so the two can never disagree.
"""

if __name__ == "__main__":
    from obo_bench.early import heed

    heed()

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

from obo_bench.core import ending, streams
from obo_bench.core.refusals import ExitCode, Refusal, UsageError
from obo_bench.core.signals import Interrupted, end_process_unless, ignore_ending_signals
from obo_bench.core.variables import STEP


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    from obo_bench.cli import answer, why_ended
    from obo_bench.cli.app import app

    arguments = list(sys.argv[1:] if argv is None else argv)
    ending.reset()
    answer.begin(arguments)
    error: BaseException | None = None
    try:
        app(args=arguments, prog_name="obo-bench")
    except BaseException as raised:  # noqa: BLE001  # the one place where every ending becomes a status
        error = raised
    manifest = ending.concluded()
    status = _status(error, manifest)
    try:
        _explain(error, status, manifest)
        why_ended.tell(manifest)
        if not os.environ.get(STEP):
            _tell_what_runs(manifest, arguments)
        lost = answer.finish(status, error, manifest)
        if lost is not None:
            status = _unanswered(status, lost, manifest)
    except Exception as trouble:  # noqa: BLE001  # that the answer cannot be given does not change how it ended
        with contextlib.suppress(Exception):
            _tell_bug("the answer cannot be given", trouble)
    return status


def run() -> None:
    """Run the command line and end the process with its status."""
    streams.open_missing()
    try:
        # Loaded while a signal still ends the process at once: an exception would tear an import.
        from obo_bench.cli import answer, app  # noqa: F401

        end_process_unless(lambda: ending.manifest_path() is not None)
        status = main()
    except Interrupted as interrupted:
        status = interrupted.exit_code
    ignore_ending_signals()
    streams.flush()
    if threading.active_count() > 1:
        # A worker that hangs in a foreign call must not hold the status back.
        os._exit(status)
    sys.exit(status)


def _status(error: BaseException | None, manifest: dict[str, Any] | None) -> int:
    if manifest is not None:
        return int(manifest["extra"]["exit_code"])
    return int(ExitCode.USAGE) if isinstance(error, UsageError) else ending.exit_status(error)


def _unanswered(status: int, lost: OSError, manifest: dict[str, Any] | None) -> int:
    """Tell that the answer is lost. What is on record ended as it did; a command that only looks has done nothing."""
    from obo_bench.cli import answer

    record = ending.manifest_path()
    where = f"; it is on record in {record}" if record is not None else ""
    answer.say(f"the answer could not be written to standard output: {lost.strerror}{where}")
    return int(ExitCode.FAILED) if manifest is None and status == ExitCode.OK else status


def _explain(error: BaseException | None, status: int, manifest: dict[str, Any] | None) -> None:
    """Tell the operator, on stderr, why it ended, and where that is on record."""
    from obo_bench.cli import answer

    # A wrapped command may end with any number: where there is a record, its outcome alone tells a crash of ours.
    crashed = status == ExitCode.CRASHED and (manifest is None or manifest["extra"]["outcome"] == "crashed")

    if isinstance(error, Refusal):
        answer.say(f"refused ({error.stage.value}: {error.reason}): {error.message}\n  what to do: {error.remedy}")
    elif isinstance(error, UsageError) and status == ExitCode.USAGE:
        answer.say(f"usage error: {error}")
    elif isinstance(error, Interrupted):
        answer.say(ending.error_record(error).message)
    elif isinstance(error, SystemExit):
        _explain_exit(error, crashed=crashed)
    elif error is not None:
        _tell_bug("crashed" if crashed else f"crashed after the end (status {status})", error)
    record = ending.manifest_path()
    if record is not None and isinstance(error, Refusal | Interrupted):
        answer.tell(f"  on record: {record}")


def _explain_exit(error: SystemExit, *, crashed: bool) -> None:
    """Show the text of a SystemExit, as Python itself would."""
    from obo_bench.cli import answer

    if isinstance(error, ending.HandedOn):
        return  # the child process has told it
    if crashed:
        _tell_bug("crashed", error)
    elif error.code is not None and not isinstance(error.code, int):
        answer.say(ending.text_of(error))


def _tell_bug(what: str, error: BaseException) -> None:
    from obo_bench.cli import answer

    told = "".join(traceback.format_exception(error))
    if len(told) > 2 * ending.LONGEST_MESSAGE:
        told = f"{told[: ending.LONGEST_MESSAGE]}\n...\n{told[-ending.LONGEST_MESSAGE :]}"
    answer.say(f"{what}: this is a bug in obo-bench\n{told}")


def _tell_what_runs(manifest: dict[str, Any] | None, arguments: Sequence[str]) -> None:
    """Tell, on stderr, what goes on without this process, and the commands for it; else what to do next."""
    from obo_bench.cli import answer, going_on, next_step

    text = going_on.how_to_go_on(manifest, arguments)
    if text:
        answer.say(text)
    next_step.tell_after(manifest, arguments)


if __name__ == "__main__":
    run()
