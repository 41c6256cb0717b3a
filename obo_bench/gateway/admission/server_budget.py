"""The server's own budget, `TOTAL_BUDGET`: for the life of its data directory, over all that anybody runs on it.

A task that finds it spent is paused before its first model call and never starts by itself.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.admission.preflight import Server
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.cost import usd
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.wire import State


@dataclass(frozen=True)
class ServerBudget:
    """What `/api/state` says of money, in USD."""

    limit_usd: float | None
    """TOTAL_BUDGET; null when there is none (0 on the wire) or it is not known."""
    spent_usd: float | None
    """Spent so far; null when it is not known."""
    left_usd: float | None
    """What is left of the limit; null when there is no limit, or it cannot be told."""

    @property
    def exhausted(self) -> bool:
        """Whether a new task would be paused."""
        return self.left_usd is not None and self.left_usd <= 0


def budget_of(state: State) -> ServerBudget:
    """Return what a state says; the server's own remainder, which knows of open calls, comes before a difference."""
    limit, spent = usd(state.budget_limit), usd(state.spent_usd)
    if not limit:
        return ServerBudget(None, spent, None)
    accounting: Any = (state.model_extra or {}).get("accounting")
    left = accounting.get("remaining_known_usd") if isinstance(accounting, dict) else None
    if isinstance(left, bool) or not isinstance(left, int | float):
        left = None if spent is None else limit - spent
    return ServerBudget(limit, spent, None if left is None else max(0.0, float(left)))


def read_server_budget(client: GatewayClient) -> ServerBudget | None:
    """Ask the server; None when it does not answer."""
    try:
        return budget_of(client.state())
    except GatewayError:
        return None


def require_server_budget(
    server: Server, *, only_new_tasks: Callable[[], bool], ceiling_usd: float | None
) -> list[str]:
    """Return the notices on the server's budget.

    Raises PreflightRefused `budget_insufficient` when it is spent and all that is left to do needs new tasks.
    """
    budget = budget_of(server.state)
    if budget.exhausted and only_new_tasks():
        raise PreflightRefused(
            "budget_insufficient",
            f"the TOTAL_BUDGET of the server at {server.client.base_url!r}, {budget.limit_usd:g} USD, is spent: "
            "it would pause every task",
            evidence={"server_budget": asdict(budget)},
            remedy="raise TOTAL_BUDGET in the server's settings (0 means none)",
        )
    notices = []
    if budget.left_usd is not None and ceiling_usd is not None and budget.left_usd < ceiling_usd:
        notices.append(
            f"the server has {budget.left_usd:.2f} USD of its TOTAL_BUDGET of {budget.limit_usd:g} left, less than "
            f"--max-cost-usd {ceiling_usd:g}: it pauses tasks before that"
        )
    return notices
