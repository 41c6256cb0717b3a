"""Watch over a launcher until it ends, or has to be stopped."""

import signal
import time

from obo_bench.core.reporter import Reporter
from obo_bench.launch.child.supervised import ChildEnd, SupervisedChild
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.executing.manifest_guard import ManifestGuard
from obo_bench.launch.executing.options import ExecOptions
from obo_bench.launch.executing.server_watch import ServerWatch
from obo_bench.launch.executing.stop import Stop, fatal, server_refused
from obo_bench.launch.presets.preset import Preset

_POLL_SEC = 0.1


class Watch:
    """Decides when a launcher must not go on."""

    def __init__(
        self,
        options: ExecOptions,
        preset: Preset | None,
        evidence: Evidence,
        guard: ManifestGuard,
        server: ServerWatch | None,
        reporter: Reporter,
    ) -> None:
        self._options = options
        self._preset = preset
        self._evidence = evidence
        self._guard = guard
        self._server = server
        self._reporter = reporter
        self._begun = time.monotonic()

    def until_end(self, child: SupervisedChild) -> tuple[ChildEnd, Stop | None]:
        """Return how it ended, and why it was stopped or should have been; raises LedgerUnwritable."""
        while True:
            end = child.wait(_POLL_SEC)
            self._evidence.look(at_end=end is not None)
            self._guard.look()
            if end is not None:
                return end, self._after(end)
            stop = self._fatal() or self._ceiling() or self._timeout()
            if stop is not None:
                self._reporter.event(f"stopping the launcher: {stop.detail}")
                return child.stop(signal.SIGTERM, self._options.grace_sec), stop

    def spent_usd(self) -> float | None:
        """Return the most that anybody says was spent in this invocation, in USD; None when nobody says."""
        said = [
            self._evidence.rows_usd(),
            self._evidence.claimed_usd(),
            self._server.spent_usd() if self._server else None,
        ]
        return max((amount for amount in said if amount is not None), default=None)

    def _fatal(self) -> Stop | None:
        if self._evidence.fatal is not None:
            return fatal(*self._evidence.fatal)
        if self._server is not None and self._server.refusal is not None:
            return server_refused(self._server.refusal)
        return None

    def _after(self, end: ChildEnd) -> Stop | None:
        """Return what is held against going on although the launcher has ended by itself."""
        reason = self._preset.reason_of_status(end.exit_status) if self._preset else None
        if self._evidence.fatal is None and reason is not None:
            return fatal(reason, f"its exit status {end.exit_status}")
        if self._fatal() is None and self._server is not None:
            self._server.look()
        return self._fatal()

    def _ceiling(self) -> Stop | None:
        ceiling, spent = self._options.max_cost_usd, self.spent_usd()
        if ceiling is None or spent is None or spent < ceiling:
            return None
        return Stop("ceiling", f"it has cost {spent:.4f} USD, --max-cost-usd is {ceiling:g}")

    def _timeout(self) -> Stop | None:
        limit = self._options.timeout_sec
        if limit is None or time.monotonic() - self._begun < limit:
            return None
        return Stop("timeout", f"it has run for {limit:g} s (--timeout-sec)")
