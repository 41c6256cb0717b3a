"""The process between us and a launcher: starts it in a group of its own, and leaves nothing of it behind.

    python -I -S guardian.py CONTROL_FD STATUS_FD GRACE_SEC COMMAND ...

Only the standard library is used. The control pipe takes orders: a signal's number and a newline passes that signal on
to the group. Its end of file means that whoever gave the orders is gone, killed perhaps: then the group is ended, so
that nothing goes on spending unseen. The status pipe gets three JSON lines: the process id, how the start went, and how
it all ended.

Where the kernel can (Linux), processes that left the group are given to this one when their parents end; it ends them,
too, and never any process that is not its descendant.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
"""Operations of prctl(2)."""
_LEFTOVER_GRACE_SEC = 2.0
"""What a process that outlives the launcher has between SIGTERM and SIGKILL."""
_GIVE_UP_SEC = 10.0
"""How long a process that SIGKILL does not end (it hangs in the kernel) is waited for."""
_PAUSE_SEC = 0.02
_LISTED = 20


def prctl(operation: int, argument: int) -> bool:
    """Call prctl(2); False where there is no such thing."""
    try:
        return bool(ctypes.CDLL(None).prctl(operation, argument, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class Guardian:
    """Watches over one launcher."""

    def __init__(self, control: int, status: int, grace_sec: float) -> None:
        self._control = control
        self._status = status
        self._grace_sec = grace_sec
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A handler, because what is ignored here would be ignored by the launcher, too.
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)
        self._leader = 0
        self._orders = b""

    def run(self, command: list[str]) -> None:
        """Start the launcher, and stay until it and all that it left behind have ended."""
        subreaper = prctl(_SET_CHILD_SUBREAPER, 1)
        try:
            # Kept, because an object that is thrown away looks whether its process has ended, and takes its status.
            process = subprocess.Popen(
                command,
                start_new_session=True,
                preexec_fn=self._begin_child,  # noqa: PLW1509  # no threads here
            )
        except (OSError, ValueError) as error:
            self._tell({"errno": getattr(error, "errno", None), "error": getattr(error, "strerror", "") or str(error)})
            return
        self._leader = process.pid
        self._tell({"started": True})
        self._watch()
        left = self._end_leftovers()
        _, status = os.waitpid(self._leader, 0)
        self._tell({"status": os.waitstatus_to_exitcode(status), "left": left, "subreaper": subreaper})

    def _begin_child(self) -> None:
        """In the launcher's process, before it is the launcher: from here on it can be found, and ends with us."""
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        self._tell({"pid": os.getpid()})

    def _watch(self) -> None:
        """Pass orders on until the leader has ended; it is not reaped, so that its number stays its own."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while not self._ended():
            for descriptor, _ in poll.poll(1000):
                if descriptor == self._wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                elif not self._obey():
                    self._abandon()
                    return
            _reap_but(self._leader)

    def _obey(self) -> bool:
        """Pass on the signals that are ordered; False when nobody gives orders any more."""
        data = os.read(self._control, 4096)
        *orders, self._orders = (self._orders + data).split(b"\n")
        for order in orders:
            self._signal_group(int(order))
        return bool(data)

    def _abandon(self) -> None:
        """End the group on our own: SIGTERM, the grace, SIGKILL."""
        self._signal_group(signal.SIGTERM)
        give_up = time.monotonic() + self._grace_sec
        while not self._ended() and time.monotonic() < give_up:
            time.sleep(_PAUSE_SEC)
        self._signal_group(signal.SIGKILL)
        give_up = time.monotonic() + _GIVE_UP_SEC
        while not self._ended() and time.monotonic() < give_up:
            time.sleep(_PAUSE_SEC)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
            if number != signal.SIGKILL:
                # A stopped process would take no notice of it.
                os.killpg(self._leader, signal.SIGCONT)

    def _ended(self) -> bool:
        found = os.waitid(os.P_PID, self._leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    def _end_leftovers(self) -> dict[str, Any]:
        """End what outlives the launcher; returns what there was."""
        found: dict[int, dict[str, Any]] = {}
        begun = time.monotonic()
        while time.monotonic() - begun < _LEFTOVER_GRACE_SEC + _GIVE_UP_SEC:
            _reap_but(self._leader)
            alive = self._alive()
            if not alive:
                break
            patient = time.monotonic() - begun < _LEFTOVER_GRACE_SEC and len(found) <= _LISTED
            self._end_each(alive, found, signal.SIGTERM if patient else signal.SIGKILL)
            time.sleep(_PAUSE_SEC)
        # Where the kernel does not tell of descendants, this is all that can be done for the group.
        self._signal_group(signal.SIGKILL)
        return {"count": len(found), "processes": list(found.values())[:_LISTED], "alive": len(self._alive())}

    def _end_each(self, alive: list[int], found: dict[int, dict[str, Any]], number: int) -> None:
        if number == signal.SIGKILL:
            # All at once: a storm of forks is faster than one call for each.
            self._signal_group(number)
        for pid in alive:
            if pid not in found or number == signal.SIGKILL:
                found.setdefault(pid, self._described(pid))
                _kill(pid, number)

    def _alive(self) -> list[int]:
        """Return all living descendants but the leader, which has ended."""
        found, ahead = [], [os.getpid(), self._leader]
        while ahead:
            below = [pid for pid in _children(ahead.pop()) if pid != self._leader]
            ahead += below
            found += [pid for pid in below if _state(pid) not in ("", "Z")]
        return found

    def _described(self, pid: int) -> dict[str, Any]:
        try:
            group = os.getpgid(pid)
        except OSError:
            group = 0
        name = _stat(pid).rpartition(")")[0].partition("(")[2]
        return {"pid": pid, "name": name, "in_group": group == self._leader}

    def _tell(self, document: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._status, json.dumps(document).encode() + b"\n")


def _reap_but(leader: int) -> None:
    """Reap what was given to us: in a storm of forks the ended ones would fill the process table."""
    with contextlib.suppress(ChildProcessError):
        for pid in _children(os.getpid()) or _next_ended(leader):
            if pid != leader:
                os.waitpid(pid, os.WNOHANG)


def _next_ended(leader: int) -> list[int]:
    """Return an ended child where the kernel does not list them; none once the leader, which is kept, is among them."""
    found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return [] if found is None or found.si_pid == leader else [found.si_pid]


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        if number != signal.SIGKILL:
            os.kill(pid, signal.SIGCONT)


def _children(pid: int) -> list[int]:
    """Return the direct children of a process; none where the kernel does not say."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text("ascii").split())
    return found


def _state(pid: int) -> str:
    """Return the letter of a process's state; empty when it is gone."""
    return _stat(pid).rpartition(")")[2].strip()[:1]


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""


def main() -> None:
    """Guard the command of this process's arguments."""
    control, status, grace = sys.argv[1:4]
    for descriptor in (int(control), int(status)):
        os.set_inheritable(descriptor, False)
    Guardian(int(control), int(status), float(grace)).run(sys.argv[4:])


if __name__ == "__main__":
    main()
