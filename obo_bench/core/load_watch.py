"""Watches how busy the host is during a stretch of work, and leaves that as a document."""

import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from obo_bench.core.files import write_json
from obo_bench.core.host_load import LoadRecord, sample_host_load

INTERVAL_SEC = 15.0
"""A five-minute average cannot rise and fall unseen in between."""
_END_TIMEOUT_SEC = 5.0


class LoadWatch:
    """Looks at the host from entry to exit of the context, and writes the record to `path` whichever way it ends.

    A record that cannot be written is missing, which its readers take for unknown: the work is not lost to that.
    """

    def __init__(self, path: Path, interval_sec: float = INTERVAL_SEC) -> None:
        self._path = path
        self._interval_sec = interval_sec
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        """Take the first look."""
        self._record = LoadRecord.of(sample_host_load())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the last look and write the record."""
        self._over.set()
        self._thread.join(_END_TIMEOUT_SEC)
        self._look()
        with contextlib.suppress(OSError):
            write_json(self._path, self._record.document())

    def _follow(self) -> None:
        while not self._over.wait(self._interval_sec):
            self._look()

    def _look(self) -> None:
        self._record = self._record.with_look(sample_host_load())
