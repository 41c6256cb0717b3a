"""The server that a run was admitted with: asked again, before money is spent, whether it is still the one."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from obo_bench.core.refusals import RuntimeAttestationRefused
from obo_bench.core.reporter import Reporter
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.identity import Change, ServerIdentity, Verdict, compare, read_identity, successor
from obo_bench.gateway.lifecycle import OUTAGE_SEC

POLL_SEC = 2.0
"""Pause between two questions to a server that does not answer."""


class AdmittedServer:
    """Knows whom the run was admitted with; safe to share between threads."""

    def __init__(
        self,
        client: GatewayClient,
        identity: ServerIdentity,
        reporter: Reporter,
        record_event: Callable[[dict[str, Any]], None],
        *,
        outage_sec: float = OUTAGE_SEC,
    ) -> None:
        self.client = client
        """The server's client."""
        self.relied_upon = False
        """Whether this invocation gave the server a task or went on with one."""
        self._expected = identity
        self._reporter = reporter
        self._record_event = record_event
        self._outage_sec = outage_sec
        self._judging = threading.Lock()

    @classmethod
    def of_attested(
        cls,
        client: GatewayClient,
        runtime_version: str | None,
        reporter: Reporter,
        record_event: Callable[[dict[str, Any]], None],
    ) -> Self:
        """Take the identity of the server that was attested to run `runtime_version`, as the last act of admission.

        Raises RuntimeAttestationRefused when it stopped answering, or another one answers by now.
        """
        try:
            identity = read_identity(client)
        except GatewayError as error:
            raise RuntimeAttestationRefused(
                "runtime_unreachable",
                f"the server at {client.base_url!r} answered, but not any more: {error}",
                evidence={"base_url": client.base_url, "why": str(error)},
            ) from error
        server = cls(client, replace(identity, runtime_version=runtime_version), reporter, record_event)
        server._judge(identity)
        return server

    def confirm(self, stop: threading.Event) -> bool:
        """Make sure that the server is the admitted one; False when `stop` was set before it answered.

        A restart of the same version is recorded and told. Raises RuntimeAttestationRefused: `runtime_changed` or
        `runtime_version_absent` for another server, `runtime_unreachable` when none answered for `outage_sec`.
        """
        self.relied_upon = True
        while (now := self._ask(stop)) is not None:
            with self._judging:
                # What another thread learnt meanwhile is newer; held against it, this answer would look older.
                if now.monotonic_sec >= self._expected.monotonic_sec:
                    self._judge(now)
                    return True
        return False

    def _ask(self, stop: threading.Event) -> ServerIdentity | None:
        give_up = time.monotonic() + self._outage_sec
        told = False
        while True:
            try:
                return read_identity(self.client)
            except GatewayError as error:
                why = str(error)
            if time.monotonic() > give_up:
                raise RuntimeAttestationRefused(
                    "runtime_unreachable",
                    f"no server answered for {self._outage_sec:.0f} s: {why}",
                    evidence={"base_url": self.client.base_url, "why": why, "admitted": self._expected.facts()},
                )
            if not told:
                self._reporter.event(f"waiting up to {self._outage_sec:.0f} s for the server: {why}")
                told = True
            if stop.wait(POLL_SEC):
                return None

    def _judge(self, now: ServerIdentity) -> None:
        if now.runtime_version is None:
            raise RuntimeAttestationRefused(
                "runtime_version_absent",
                f"what answers at {self.client.base_url!r} does not say any more which version it runs",
                evidence=self._evidence(now),
            )
        verdict = compare(self._expected, now)
        if verdict.change is Change.SAME:
            return
        self._note(verdict, now)
        if verdict.change is Change.CHANGED:
            raise RuntimeAttestationRefused(
                "runtime_changed",
                f"another server answers at {self.client.base_url!r}: {verdict.detail}",
                evidence=self._evidence(now),
            )
        self._expected = successor(self._expected, now)

    def _note(self, verdict: Verdict, now: ServerIdentity) -> None:
        self._record_event(
            {"ts_unix": time.time(), "event": verdict.change.value, "detail": verdict.detail, **self._evidence(now)}
        )
        self._reporter.event(f"the server {verdict.change.value}: {verdict.detail}")

    def _evidence(self, now: ServerIdentity) -> dict[str, Any]:
        return {"admitted": self._expected.facts(), "now": now.facts()}
