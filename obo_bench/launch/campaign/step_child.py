"""The process of a step: in a session of its own, so that a signal reaches it once, from the campaign.

Its answer goes to a file, and a lock that only it holds tells that it lives, from its first moment to its last:
nothing depends on whether the campaign that started it still does.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

from obo_bench.core.files import PRIVATE_FILE, make_private_directory
from obo_bench.core.lock import living_owner
from obo_bench.core.reporter import Reporter
from obo_bench.core.signals import Interrupted, untorn
from obo_bench.core.variables import STEP, without_option_variables
from obo_bench.launch.campaign.resolving import Step

STEPS = "steps"
"""Directory in a campaign's root: of each step its answers, and the lock that its process holds."""
_LOCK = "process.lock"
_LEAVING_SEC = 60.0
"""How long a step may take to leave after it was told to a second time."""
_POLL_SEC = 0.5
_TOLD_EVERY_SEC = 600.0


class StepChild:
    """The process of one start of a step."""

    def __init__(self, step: Step, root: Path, number: int) -> None:
        self._step = step
        self._place = root / STEPS / step.id
        self.answer = self._place / f"{number}.answer.json"
        """Where its stdout goes."""
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, arguments: list[str], directory: Path) -> int:
        """Start it in `directory`, wait for its end and return its status as a shell has it; raises OSError.

        The first signal is handed on, and the step leaves by its own rules; with a second one it is given a minute.
        Raises Interrupted when it has not left by then: a resume waits for it.
        """
        handed: Interrupted | None = None
        for timeout_sec in (None, None, _LEAVING_SEC):
            try:
                if handed is None:
                    self._start(arguments, directory)
                else:
                    self._hand_on(handed.signum)
                return self._end(timeout_sec)
            except Interrupted as interrupted:
                if self._process is None:
                    raise
                handed = interrupted
            except subprocess.TimeoutExpired:
                break
        assert handed is not None
        raise handed

    @untorn
    def _start(self, arguments: list[str], directory: Path) -> None:
        """Start it; a signal in the meantime waits, so that no process is lost."""
        make_private_directory(self._place)
        with contextlib.ExitStack() as opened:
            stdout = _opened(self.answer, os.O_TRUNC, opened)
            held = _opened(self._place / _LOCK, 0, opened)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "obo_bench", *arguments],
                cwd=directory,
                env={**without_option_variables(os.environ), STEP: self._step.id},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                start_new_session=True,
                pass_fds=(held,),
            )

    def _end(self, timeout_sec: float | None) -> int:
        assert self._process is not None
        return _status(self._process.wait(timeout_sec))

    @untorn
    def _hand_on(self, signum: int) -> None:
        assert self._process is not None
        # It may have ended just now.
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signum)


def wait_for_survivor(step: Step, root: Path, reporter: Reporter) -> None:
    """Wait while a process of an earlier invocation, or of somebody else, is at work on a step."""
    told: float | None = None
    while (who := at_work(step, root)) is not None:
        if told is None or time.monotonic() - told > _TOLD_EVERY_SEC:
            told = time.monotonic()
            reporter.event(f"{who} is still at work on it: waiting for its end", step.id)
        time.sleep(_POLL_SEC)


def at_work(step: Step, root: Path) -> str | None:
    """Return who is at work on a step, in words, or None when nobody is."""
    owner = None
    with contextlib.suppress(OSError):
        owner = living_owner(step.root)
    if owner is not None:
        return f"process {owner.get('pid', 'unknown')}"
    return "its process" if _is_locked(root / STEPS / step.id / _LOCK) else None


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _opened(path: Path, flags: int, opened: contextlib.ExitStack) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flags, PRIVATE_FILE)
    opened.callback(os.close, descriptor)
    return descriptor


def _status(returned: int) -> int:
    return 128 - returned if returned < 0 else returned
