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
_TELL_SEC = 60.0


class IdleWorkers:
    """Hands out idle workers; safe to share between threads.

    Only the question whether one is idle is asked by one thread at a time. A submission that hangs takes the one worker
    that it may have got, and nothing else.
    """

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self._reserved = 0

    @contextmanager
    def reserve(self, server: AdmittedServer, closed: threading.Event, reporter: Reporter) -> Iterator[bool]:
        """Wait for an idle worker and keep it for the block, in which the task is submitted; False once `closed`.

        Raises RuntimeAttestationRefused when the server cannot be asked and turns out not to be the admitted one.
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
        told = time.monotonic()
        while not closed.is_set():
            if self._is_idle(server, closed, reporter):
                with self._counting:
                    self._reserved += 1
                return True
            if time.monotonic() - told > _TELL_SEC:
                told = time.monotonic()
                reporter.event("still waiting for an idle worker of the server")
            closed.wait(POLL_SEC)
        return False

    def _is_idle(self, server: AdmittedServer, closed: threading.Event, reporter: Reporter) -> bool:
        # Counted before the server is asked: a submission that ends meanwhile may be missing in what it answers.
        reserved = self._reserved
        try:
            state = server.client.state()
        except GatewayError as error:
            reporter.event(f"the server's load is unknown: {error}")
            server.confirm(closed)
            return False
        return state.ready and state.idle_workers > reserved
