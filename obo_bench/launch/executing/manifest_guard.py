"""The run's manifest while a launcher runs that could reach it: what we write wins, and tampering is recorded."""

import threading
from collections.abc import Callable
from typing import Any

from obo_bench.core.session import Session

_State = tuple[int, int, int] | None


class ManifestGuard:
    """Writes the manifest for the threads of a launcher's invocation, and tells whether anybody else did."""

    def __init__(self, session: Session, problem: Callable[[str], None]) -> None:
        self._session = session
        self._path = session.run_root / session.request.manifest_name
        self._problem = problem
        self._lock = threading.Lock()
        self._left: _State = None
        self._watching = False

    def begin(self) -> None:
        """Watch from here on: the launcher is about to be started."""
        with self._lock:
            self._session.checkpoint()
            self._left, self._watching = self._state(), True

    def server_event(self, event: dict[str, Any]) -> None:
        """Record an event of the server."""
        with self._lock:
            self._session.manifest.extra.server_events.append(event)
            self._look()
            self._session.checkpoint()
            self._left = self._state()

    def look(self) -> None:
        """Tell when the manifest is not as it was left; the next write puts it right."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        now = self._state()
        if self._watching and now != self._left:
            self._problem("the run's manifest was changed by something else; it is written anew at the end")
            self._left = now

    def _state(self) -> _State:
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
