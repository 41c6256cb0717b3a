"""One official command as a supervised process: a session of its own, a deadline, and an end on every way out.

It is never sent SIGINT, on which the evaluator records false failures and goes on with the rest of its queue.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.programbench.evaluation.official_child import PARENT_FD_VARIABLE

_TERM_GRACE_SEC = 10.0
_LOOK_SEC = 0.2


@dataclass(frozen=True)
class ProcessEnd:
    """How a supervised official command ended."""

    returncode: int
    """Exit status; negative: the signal."""
    timed_out: bool = False
    """We ended it at its time limit."""
    stopped: bool = False
    """We ended it because the whole evaluation was to end."""


def run_official(
    argv: Sequence[str],
    environ: Mapping[str, str],
    logs: tuple[Path, Path],
    timeout_sec: float,
    stop: threading.Event,
) -> ProcessEnd:
    """Run an official command, its output going to the two `logs`, until it ends, `timeout_sec` pass or `stop` is set.

    Then, and on any exception that passes through (Ctrl-C, a signal), the whole process group is ended: SIGTERM, then
    SIGKILL. Raises OSError when it cannot be started.
    """
    reader, writer = os.pipe()
    try:
        with logs[0].open("wb") as stdout, logs[1].open("wb") as stderr:
            process = subprocess.Popen(
                argv,
                env={**environ, PARENT_FD_VARIABLE: str(reader)},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(reader,),
                start_new_session=True,
            )
        return _await(process, timeout_sec, stop)
    finally:
        os.close(reader)
        os.close(writer)


def _await(process: "subprocess.Popen[bytes]", timeout_sec: float, stop: threading.Event) -> ProcessEnd:
    deadline = time.monotonic() + timeout_sec
    try:
        while (left := deadline - time.monotonic()) > 0 and not stop.is_set():
            with contextlib.suppress(subprocess.TimeoutExpired):
                return ProcessEnd(process.wait(min(left, _LOOK_SEC)))
    except BaseException:
        _end_group(process)
        raise
    _end_group(process)
    return ProcessEnd(process.wait(), timed_out=not stop.is_set(), stopped=stop.is_set())


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the leader, then whatever it left in its group."""
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_TERM_GRACE_SEC)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
