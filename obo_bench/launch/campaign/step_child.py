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
from obo_bench.core.signals import Interrupted, SignalGuard, untorn
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
    """A running step."""

    def __init__(self, process: "subprocess.Popen[bytes]", answer: Path) -> None:
        self._process = process
        self.answer = answer
        """Where its stdout goes."""

    @classmethod
    @untorn
    def start(cls, step: Step, root: Path, number: int, arguments: list[str], directory: Path) -> "StepChild":
        """Start a step in `directory`; raises OSError. A signal in the meantime waits, so that no process is lost."""
        place = root / STEPS / step.id
        make_private_directory(place)
        answer = place / f"{number}.answer.json"
        with contextlib.ExitStack() as opened:
            stdout = _opened(answer, os.O_TRUNC, opened)
            held = _opened(place / _LOCK, 0, opened)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            process = subprocess.Popen(
                [sys.executable, "-m", "obo_bench", *arguments],
                cwd=directory,
                env={**without_option_variables(os.environ), STEP: step.id},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                start_new_session=True,
                pass_fds=(held,),
            )
        return cls(process, answer)

    def wait(self, signals: SignalGuard) -> int:
        """Wait for its end and return its status as a shell has it.

        The first signal is handed on, and the step leaves by its own rules; with a second one it is given a minute.
        Raises Interrupted when it has not left by then: a resume waits for it.
        """
        try:
            if signals.arrived is not None:
                raise Interrupted(signals.arrived)
            return _status(self._process.wait())
        except Interrupted as first:
            self._hand_on(first.signum)
        try:
            return _status(self._process.wait())
        except Interrupted as second:
            self._hand_on(second.signum)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return _status(self._process.wait(_LEAVING_SEC))
            raise

    @untorn
    def _hand_on(self, signum: int) -> None:
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
