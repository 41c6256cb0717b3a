"""The money of a run while it goes on: what it has cost, and whether another task may be paid for.

Only new tasks are held back: what runs goes on, and what has been paid for is still fetched and packaged.
"""

import threading
from collections.abc import Iterable
from typing import Any

from obo_bench.core.ledger import Row
from obo_bench.core.reporter import Reporter, SilentReporter
from obo_bench.gateway.admission.server_budget import ServerBudget, read_server_budget
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.cost import running_cost
from obo_bench.gateway.errors import GatewayError
from obo_bench.programbench.solving.account import Account

STOPPED_BUDGET = "stopped_budget"
"""Reason of an instance that was not started for want of money, and outcome of its run."""


class Spending:
    """Knows what every attempt of the run has cost; safe to share between threads."""

    def __init__(
        self,
        earlier: Iterable[Row] = (),
        *,
        ceiling_usd: float | None = None,
        client: GatewayClient | None = None,
        reporter: Reporter | None = None,
        budget_at_start: ServerBudget | None = None,
    ) -> None:
        """`earlier` are the ledger's rows of all invocations so far; without a `client` nothing can be spent."""
        self._account = Account(earlier)
        self._ceiling_usd = ceiling_usd
        self._client = client
        self._reporter = reporter or SilentReporter()
        self._at_start = budget_at_start
        self._running: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()
        self._blind_told = False
        self.stopped = ""
        """Why a task was not paid for; empty while none was held back."""

    def begin(self, instance_id: str, attempt: int, task_id: str) -> None:
        """Take note of a task that may spend from now on."""
        with self._lock:
            self._running[instance_id, attempt] = task_id

    def note(self, row: Row) -> None:
        """Take a row into account; its attempt spends no more as far as this invocation knows."""
        with self._lock:
            self._running.pop((row.instance_id, row.attempt), None)
            self._account.note(row)

    def knows(self, instance_id: str, attempt: int) -> bool:
        """Say whether the cost of an attempt is known."""
        with self._lock:
            return self._account.knows(instance_id, attempt)

    def sums(self) -> tuple[float, int]:
        """Return the known costs of all ended attempts in USD, and how many of them have an unknown one."""
        with self._lock:
            return self._account.sums()

    def why_not(self) -> str | None:
        """Return why no further task may be paid for now, None when one may; asks the server."""
        if self._client is None:
            return None
        why = self._over_ceiling(self._client) or _over_budget(self._client)
        if why and not self.stopped:
            self._reporter.event(f"no new task is started: {why}")
        self.stopped = self.stopped or why or ""
        return why

    def document(self, *, ask_server: bool = True) -> dict[str, Any]:
        """Return the run's costs for the manifest, with the server's own view where it is asked and answers."""
        at_end = read_server_budget(self._client) if ask_server and self._client is not None else None
        with self._lock:
            return {
                **self._account.document(),
                "ceiling_usd": self._ceiling_usd,
                "server": {
                    "total_budget_usd": self._at_start.limit_usd if self._at_start else None,
                    "spent_usd_at_start": self._at_start.spent_usd if self._at_start else None,
                    "spent_usd_at_end": at_end.spent_usd if at_end else None,
                },
            }

    def _over_ceiling(self, client: GatewayClient) -> str | None:
        if self._ceiling_usd is None:
            return None
        with self._lock:
            running = {task: name for task, name in self._running.items() if not self._account.knows(*task)}
            spent, unknown = self._account.sums(without=running)
        for task_id in running.values():
            amount = _spent_so_far(client, task_id)
            spent, unknown = spent + (amount or 0.0), unknown + (amount is None)
        if unknown and not self._blind_told:
            self._blind_told = True
            self._reporter.event(f"--max-cost-usd cannot see {unknown} task(s): the server does not say what they cost")
        if spent < self._ceiling_usd:
            return None
        return f"the run has cost {spent:.4f} USD, --max-cost-usd is {self._ceiling_usd:g}"


def _spent_so_far(client: GatewayClient, task_id: str) -> float | None:
    try:
        record = client.task(task_id)
    except GatewayError:
        return None
    cost = running_cost(record) if record is not None else None
    amount = cost["usd"] if cost else None
    return float(amount) if amount is not None else None


def _over_budget(client: GatewayClient) -> str | None:
    budget = read_server_budget(client)
    if budget is None or not budget.exhausted:
        return None
    return f"the server's TOTAL_BUDGET of {budget.limit_usd:g} USD is spent"
