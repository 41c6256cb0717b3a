"""`run_main`: the process of a launcher ends with the status that its run was recorded with."""

import contextlib
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

from obo_bench.core import streams
from obo_bench.core.ending import LONGEST_MESSAGE, error_record, exit_status, text_of
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import ExitCode, Refusal, UsageError
from obo_bench.core.reporter import printable, write_line
from obo_bench.core.signals import Interrupted, end_process_unless, ignore_ending_signals, untorn
from obo_bench.launch.helper import statuses


def run_main(main: Callable[[], int | None]) -> NoReturn:
    """Call a launcher's `main` and end the process with the status that its run was recorded with.

    To be the last lines of a program:

        if __name__ == "__main__":
            run_main(main)

    Where no run was recorded, what `main` returns or raises decides: a number or nothing as for `sys.exit`, 2 for a
    UsageError, the refusal's own status, 128 + n for a signal, 70 for any other exception. After several runs it is
    the first status that is not 0. SIGINT, SIGTERM and SIGHUP end `main` also outside of its runs. Why it ended is
    told on stderr. Raises SystemExit, after which Python waits for threads that are no daemons.
    """
    statuses.reset()
    streams.open_missing()
    try:
        if _heeds_signals():
            end_process_unless(lambda: False)
        raise SystemExit(main())
    except BaseException as error:  # noqa: BLE001  # the one place where every ending becomes a status
        _leave(error)


@untorn
def _leave(error: BaseException) -> NoReturn:
    own = int(ExitCode.USAGE) if isinstance(error, UsageError) else exit_status(error)
    recorded = statuses.recorded()
    _tell(error, own, recorded)
    if _heeds_signals():
        ignore_ending_signals()
    streams.flush()
    raise SystemExit(own if recorded is None else recorded) from None


def _heeds_signals() -> bool:
    return threading.current_thread() is threading.main_thread()


def _tell(error: BaseException, own: int, recorded: int | None) -> None:
    """Say on stderr why it ended, and where what came after a run contradicts its record."""
    for line in statuses.failures():
        _say(line)
    if isinstance(error, Refusal):
        _say(f"refused ({error.stage.value}: {error.reason}): {error.message}\n  what to do: {error.remedy}")
    elif isinstance(error, UsageError) and recorded is None:
        _say(f"usage error: {error}")
    elif isinstance(error, Interrupted | KeyboardInterrupt):
        _say(error_record(error).message or "ended by SIGINT")
    elif not isinstance(error, SystemExit):
        _say(_crash(error))
    elif error.code is not None and not isinstance(error.code, int):
        _say(text_of(error))
    if recorded is not None and isinstance(error, SystemExit) and own not in (recorded, 0):
        _say(f"the launcher ends with {own}, but its run is on record with {recorded}: that is the status")


def _crash(error: BaseException) -> str:
    told = "".join(traceback.format_exception(error)).rstrip("\n")
    if len(told) > 2 * LONGEST_MESSAGE:
        told = f"{told[:LONGEST_MESSAGE]}\n...\n{told[-LONGEST_MESSAGE:]}"
    return f"crashed:\n{told}"


def _say(text: str) -> None:
    """Print on stderr, without secrets; one that cannot be written to changes nothing."""
    with contextlib.suppress(Exception):
        for line in process_redactor().text(text).split("\n"):
            write_line(printable(line))
