"""A thread that asks, while a launcher runs, whether the server is still the admitted one, and what has been spent."""

import threading

from obo_bench.core.refusals import Refusal
from obo_bench.gateway.admission.server_budget import ServerBudget, read_server_budget
from obo_bench.gateway.admitted import AdmittedServer

PERIOD_SEC = 5.0
"""Pause between two looks: two small questions to a server that answers in milliseconds."""


class ServerWatch:
    """Watches over the server of one invocation."""

    def __init__(self, server: AdmittedServer, at_start: ServerBudget | None, period_sec: float = PERIOD_SEC) -> None:
        self.refusal: Refusal | None = None
        """Why the server is not the admitted one any more."""
        self.at_start = at_start
        """What the server said of money at admission."""
        self.now = at_start
        """What it said last."""
        self._server = server
        self._period_sec = period_sec
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End; questions under way are cut off."""
        self._over.set()
        self._server.client.close()
        if self._thread.is_alive():  # nothing was watched where nothing could be started
            self._thread.join(1.0)

    def spent_usd(self) -> float | None:
        """Return what the server spent since the admission, in USD, for whomever; None when it does not say."""
        before = self.at_start.spent_usd if self.at_start else None
        now = self.now.spent_usd if self.now else None
        return None if before is None or now is None else max(0.0, round(now - before, 6))

    def look(self) -> None:
        """Ask once; the refusal of another server is kept, not raised: it stops the launcher."""
        try:
            self._server.confirm(self._over)
        except Refusal as refusal:
            refusal.settle()
            self.refusal = self.refusal or refusal
            return
        self.now = read_server_budget(self._server.client) or self.now

    def _run(self) -> None:
        while self.refusal is None and not self._over.wait(self._period_sec):
            self.look()
