"""A launcher as this process sees it: started, signalled, waited for; what it leaves behind is ended with it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.signals import Interrupted, untorn

_GUARDIAN = Path(__file__).with_name("guardian.py")
_START_SEC = 60.0
"""An interpreter that only reads the standard library needs some hundredths of a second."""
_GUARDIAN_SEC = 30.0
"""How long the guardian may take for what is left behind once the launcher itself was killed."""
_LONGEST_ANSWER = 64 * 1024


class NotStarted(OSError):
    """The system refused to start the command; nothing of it ran."""


@dataclass(frozen=True)
class ChildEnd:
    """How a launcher ended."""

    status: int | None
    """Its exit status, negative for the signal that ended it; None where its guardian was killed before it."""
    left: Mapping[str, Any] = field(default_factory=dict)
    """Processes that outlived it and were ended: count, the first of them, how many are alive still."""

    @property
    def exit_status(self) -> int:
        """The status as a shell has it: 128 plus the number of a signal."""
        if self.status is None:
            return 128 + signal.SIGKILL
        return 128 - self.status if self.status < 0 else self.status


class SupervisedChild:
    """One launcher in a process group of its own, behind a guardian that ends the group if this process is killed."""

    def __init__(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], grace_sec: float) -> None:
        self._command = command
        self._cwd = cwd
        self._environ = dict(environ)
        self._grace_sec = grace_sec
        self._orders = self._answers = -1
        self._buffer = b""
        self._end: ChildEnd | None = None
        self.pid = 0
        """The launcher's process id, and that of its group; 0 while it is not started."""

    @untorn
    def start(self, output: int) -> None:
        """Start it; `output` is the descriptor that takes all it prints. Raises NotStarted.

        A signal in the meantime waits, so that no process is lost.
        """
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        try:
            self._guardian = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(_GUARDIAN),
                    *map(str, (orders, answers, self._grace_sec)),
                    *self._command,
                ],
                cwd=self._cwd,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(orders, answers),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._close()
            raise NotStarted(getattr(error, "errno", None), getattr(error, "strerror", None) or str(error)) from error
        finally:
            os.close(orders)
            os.close(answers)
        self._take_start()

    def wait(self, timeout_sec: float) -> ChildEnd | None:
        """Return how it ended, all that it left behind included; None when that takes longer."""
        if self._end is not None:
            return self._end
        answer = self._answer(timeout_sec)
        if answer is None:
            return None
        self._close()
        self._guardian.wait()
        if not answer:
            # Somebody killed the guardian; the kernel then kills the launcher, but not what that had started.
            _kill_group(self.pid)
        self._end = ChildEnd(answer.get("status"), answer.get("left") or {})
        return self._end

    def signal(self, number: int) -> None:
        """Pass a signal on to the whole group; one that has ended takes no notice."""
        try:
            os.write(self._orders, b"%d\n" % number)
        except OSError:
            return

    def stop(self, number: int, grace_sec: float) -> ChildEnd:
        """Pass a signal on, give the group time to end, then kill it; a second signal of ours kills it at once."""
        try:
            self.signal(number)
            end = self.wait(grace_sec)
        except Interrupted:
            # The session's guard remembers it: it decides the ending.
            end = None
        return end or self.kill()

    @untorn
    def kill(self) -> ChildEnd:
        """Kill the group now, if it has not ended, and return how it ended."""
        if self._end is None:
            self.signal(signal.SIGKILL)
            self.wait(_GUARDIAN_SEC)
        if self._end is None:
            # The kernel holds it: the guardian goes on to wait for it, we do not.
            self._close()
            self._end = ChildEnd(None, {"count": 1, "processes": [{"pid": self.pid}], "alive": 1})
        return self._end

    def _take_start(self) -> None:
        named = self._answer(_START_SEC) or {}
        self.pid = int(named.get("pid", 0))
        started = self._answer(_START_SEC) if self.pid else named
        if self.pid and (not started or "started" in started):
            # Without an answer the launcher has killed its guardian already: that is seen when it is waited for.
            return
        self.pid = 0
        self._close()
        self._guardian.wait()
        started = started or {"errno": None, "error": "the process that was to guard it ended at once"}
        raise NotStarted(started["errno"], started["error"])

    def _answer(self, timeout_sec: float) -> dict[str, Any] | None:
        """Return the next answer, empty when the guardian is gone without one; None after the time."""
        give_up = time.monotonic() + timeout_sec
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        while b"\n" not in self._buffer:
            if not poll.poll(max(0.0, give_up - time.monotonic()) * 1000):
                return None
            data = os.read(self._answers, _LONGEST_ANSWER)
            if not data:
                return {}
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _close(self) -> None:
        for descriptor in (self._orders, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        self._orders = self._answers = -1


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return
