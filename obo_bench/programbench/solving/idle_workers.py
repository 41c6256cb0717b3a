"""The server's workers without a task, given to one instance at a time.

A task's deadline counts the time that it waits in the server's queue, so none is submitted before a worker is free.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from obo_bench.core.reporter import Reporter
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.errors import GatewayError

POLL_SEC = 0.5
_SLOW_POLL_SEC = 3.0
UNREADY_SEC = 600.0
"""How long a server that answers may be without workers, or not say how many it has; a busy one is waited for."""
_TELL_SEC = 60.0


class NoWorkers(RuntimeError):
    """The server answers, but has not been able to take a task for `UNREADY_SEC`."""

    reason = "gateway_not_ready"
    """The row's reason code."""
    infrastructure = True
    """A resume tries again."""


class IdleWorkers:
    """Hands out idle workers; safe to share between threads.

    Only the question whether one is idle is asked by one thread at a time. A submission that hangs takes the one worker
    that it may have got, and nothing else.
    """

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self._reserved = 0
        self._unready_since: float | None = None
        self._looked = 0.0

    @contextmanager
    def reserve(self, server: AdmittedServer, closed: threading.Event, reporter: Reporter) -> Iterator[bool]:
        """Wait for an idle worker and keep it for the block, in which the task is submitted; False once `closed`.

        Raises RuntimeAttestationRefused when the server cannot be asked and turns out not to be the admitted one,
        NoWorkers when it cannot take a task for too long.
        """
        got = self._take(server, closed, reporter)
        try:
            yield got
        finally:
            if got:
                with self._counting:
                    self._reserved -= 1

    def _take(self, server: AdmittedServer, closed: threading.Event, reporter: Reporter) -> bool:
        while not closed.is_set():
            if self._asking.acquire(timeout=POLL_SEC):
                try:
                    return self._wait(server, closed, reporter)
                finally:
                    self._asking.release()
        return False

    def _wait(self, server: AdmittedServer, closed: threading.Event, reporter: Reporter) -> bool:
        started = told = time.monotonic()
        last = ""
        while not closed.is_set():
            idle, unready = self._look(server, closed)
            if idle:
                with self._counting:
                    self._reserved += 1
                return True
            self._mind(unready)
            if unready != last or time.monotonic() - told > _TELL_SEC:
                told, last = time.monotonic(), unready
                reporter.event(f"still waiting for an idle worker of the server{unready and f': {unready}'}")
            # Tasks take hours: a server that stays busy is not asked a hundred thousand times.
            closed.wait(POLL_SEC if time.monotonic() - started < _TELL_SEC else _SLOW_POLL_SEC)
        return False

    def _look(self, server: AdmittedServer, closed: threading.Event) -> tuple[bool, str]:
        """Return whether a worker is idle, and why the server can take no task at all, empty where it is busy."""
        # Counted before the server is asked: a submission that ends meanwhile may be missing in what it answers.
        reserved = self._reserved
        try:
            state = server.client.state()
        except GatewayError as error:
            server.confirm(closed)
            return False, f"its load is unknown: {error}"
        if not state.ready:
            return False, "none of its workers is up"
        return state.idle_workers > reserved, ""

    def _mind(self, unready: str) -> None:
        now = time.monotonic()
        if not unready or now - self._looked > UNREADY_SEC:
            # What was seen before a long silence says nothing of the time since.
            self._unready_since = None
        self._looked = now
        if not unready:
            return
        self._unready_since = self._unready_since or now
        if now - self._unready_since > UNREADY_SEC:
            raise NoWorkers(f"the server answers, but takes no task for {UNREADY_SEC:.0f} s: {unready}")
