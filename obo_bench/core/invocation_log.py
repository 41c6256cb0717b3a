"""The log of one invocation, `logs/<invocation>.log` in its run root: a line for everything that it told.

Lines are `<UTC time, ISO 8601> <text>`, bounded and without secrets. The log is for reading; nothing depends on it, and
where it cannot be written the run goes on without it.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from obo_bench.core.files import PRIVATE_DIRECTORY, PRIVATE_FILE
from obo_bench.core.reporter import told

LOGS = "logs"
"""Directory of the logs in a run root."""
_KEPT_BACK = 1000
"""Lines that wait for the file at most; the oldest are dropped."""


class InvocationLog:
    """Appends lines as they come, each at once; safe to share between threads."""

    def __init__(self, run_root: Path, invocation: str, may_write: Callable[[], bool]) -> None:
        """Lines wait until `may_write` says that the run root is this invocation's; else they are never written."""
        self.path = run_root / LOGS / f"{invocation}.log"
        """Where it is, or would be."""
        self._may_write = may_write
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque(maxlen=_KEPT_BACK)
        self._descriptor: int | None = None
        self._torn = False

    def line(self, text: str, subject: str = "") -> None:
        """Append one line."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._lock:
            self._waiting.append(f"{stamp} {told(text, subject)}\n".encode("utf-8", "backslashreplace"))
            # A full disk, a removed directory: the next line tries again.
            with contextlib.suppress(OSError):
                self._write_waiting()

    def close(self) -> None:
        """Close the file."""
        with self._lock, contextlib.suppress(OSError):
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    def _write_waiting(self) -> None:
        if not self._may_write():
            return
        if self._descriptor is None:
            self._descriptor = self._open()
        while self._waiting:
            data = b"\n" + self._waiting[0] if self._torn else self._waiting[0]
            written = os.write(self._descriptor, data)
            self._torn = written < len(data)
            self._waiting.popleft()

    def _open(self) -> int:
        self.path.parent.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.path, flags, PRIVATE_FILE)
