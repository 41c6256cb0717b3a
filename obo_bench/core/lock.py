"""The run lock: one process per run root, told apart by the kernel, with the owner written beside it.

The lock dies with its process, so a stale one is taken over by itself; the owner record then tells who crashed.
"""

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from obo_bench.core.files import read_json_object, write_json
from obo_bench.core.refusals import PreflightRefused

LOCK_NAME = ".run.lock"
OWNER_NAME = ".run.owner.json"


class RunLock:
    """Exclusive use of one run root."""

    def __init__(self, run_root: Path, invocation: str) -> None:
        self._lock = FileLock(run_root / LOCK_NAME, timeout=0)
        self._owner = run_root / OWNER_NAME
        self._invocation = invocation

    def acquire(self) -> dict[str, Any] | None:
        """Take the lock and return the owner record a crashed predecessor left, if any.

        Raises PreflightRefused `run_locked` naming the process that holds it.
        """
        try:
            self._lock.acquire()
        except Timeout:
            owner = read_json_object(self._owner) or {}
            raise PreflightRefused(
                "run_locked",
                f"the run root {str(self._owner.parent)!r} is in use by process {owner.get('pid', 'unknown')} "
                f"on {owner.get('host', 'unknown')} (invocation {owner.get('invocation', 'unknown')})",
                evidence={"owner": owner},
            ) from None
        left_behind = read_json_object(self._owner)
        write_json(
            self._owner,
            {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "started_unix": time.time(),
                "invocation": self._invocation,
            },
        )
        return left_behind

    def acquire_within(self, wait_sec: float) -> dict[str, Any] | None:
        """As `acquire`, but wait for the lock; raises when it is still held after so many seconds."""
        self._lock.timeout = wait_sec
        return self.acquire()

    def release(self, left_behind: dict[str, Any] | None = None) -> None:
        """Give the run root back; `left_behind` puts the record of a predecessor back that nobody has told of yet."""
        if not self._lock.is_locked:
            return  # it belongs to another process, and so does the owner record
        try:
            if left_behind is None:
                self._owner.unlink(missing_ok=True)
            else:
                write_json(self._owner, left_behind)
        finally:
            self._lock.release()


def living_owner(run_root: Path) -> dict[str, Any] | None:
    """Return the owner record of the process that holds the run root, or None when no process does.

    The kernel's lock is tried in shared mode and given back at once, the owner record is left as it is. Raises
    OSError when it cannot be tried.
    """
    try:
        descriptor = os.open(run_root / LOCK_NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return read_json_object(run_root / OWNER_NAME) or {}
    finally:
        os.close(descriptor)
    return None
