"""`python -m obo_bench`: the only place that turns an ending into an exit status.

For a recorded command that status is read back from the manifest on disk, so the two can never disagree.
"""

import os
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from obo_bench.core import ending
from obo_bench.core.refusals import ExitCode, Refusal, UsageError
from obo_bench.core.signals import Interrupted, end_process_unless


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    from obo_bench.cli import answer
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
    _explain(error, status, manifest)
    answer.finish(status, error, manifest)
    return status


def run() -> None:
    """Entry point of the console script."""
    end_process_unless(lambda: ending.manifest_path() is not None)
    try:
        status = main()
    except Interrupted as early:
        status = early.exit_code
    _flush()
    if threading.active_count() > 1:
        # A worker that hangs in a foreign call must not hold the status back.
        os._exit(status)
    sys.exit(status)


def _status(error: BaseException | None, manifest: dict[str, object] | None) -> int:
    extra = (manifest or {}).get("extra")
    if isinstance(extra, dict) and isinstance(extra.get("exit_code"), int):
        return int(extra["exit_code"])
    if error is None:
        return ExitCode.OK
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else (ExitCode.OK if error.code is None else ExitCode.FAILED)
    if isinstance(error, Refusal | Interrupted):
        return error.exit_code
    if isinstance(error, UsageError):
        return ExitCode.USAGE
    return ExitCode.SIGINT if isinstance(error, KeyboardInterrupt) else ExitCode.CRASHED


def _explain(error: BaseException | None, status: int, manifest: dict[str, object] | None) -> None:
    """Tell the operator, on stderr, why it ended."""
    from obo_bench.cli import answer

    if isinstance(error, Refusal):
        answer.say(f"refused ({error.stage.value}: {error.reason}): {error.message}\n  what to do: {error.remedy}")
    elif isinstance(error, UsageError):
        answer.say(f"usage error: {error}")
    elif isinstance(error, Interrupted):
        answer.say(f"{error}{_how_to_go_on(manifest)}")
    elif status == ExitCode.CRASHED and error is not None:
        answer.say("crashed: this is a bug in obo-bench\n" + "".join(traceback.format_exception(error)))


def _how_to_go_on(manifest: dict[str, object] | None) -> str:
    if manifest is None:
        return ""
    run_id = Path(str(manifest.get("run_root"))).name
    return f"; what was submitted goes on at the server: the same command with --run-id {run_id} picks it up"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:
            continue
        except OSError:
            # A closed pipe is not an error of the run; what is left in the buffer has no reader.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    run()
