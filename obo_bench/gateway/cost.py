"""What a task cost, from the best that the server says; an unknown cost is None, never zero.

Sources, the best first: `cost_breakdown` of the record (6.102; read from the server's ledger at each question), the
event `task_cost_finalized`, and the record's own snapshot, which lacks the calls after the agent's last word.
"""

import math
from collections.abc import Mapping
from typing import Any

from obo_bench.gateway.wire import TaskRecord

_PARTS = ("own_usd", "children_usd", "unattributed_usd")


def cost_of(record: TaskRecord, final_event: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what is known of a task's cost, as the ledger's `cost` holds it.

    `usd` is null when unknown, `final` says that the server's account of the task is closed, `lower_bound` that more
    may have been spent than `usd`, `at_most_usd` how much at most, where the server bounds it; amounts are USD.
    """
    found = []
    if record.cost_breakdown:
        found.append(_of_breakdown(record.cost_breakdown))
    if final_event is not None:
        found.append(_of_usage(final_event, "task_cost_finalized"))
    found.append(_of_usage(record.model_dump(), "record_snapshot"))
    known = [cost for cost in found if cost["usd"] is not None]
    return next((cost for cost in known if cost["final"]), (known or found)[0])


def running_cost(record: TaskRecord) -> dict[str, Any] | None:
    """Return what a task that may still run has cost so far; None where the server does not say (6.75)."""
    return cost_of(record) if record.cost_breakdown or record.final else None


def usd(value: object) -> float | None:
    """Return an amount, or None for what is none: no number, not finite, or below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def is_lower_bound(cost: Mapping[str, Any]) -> bool:
    """Say whether more may have been spent than `usd` of a row's `cost`.

    A row of version 0.1.0 says only whether the account is closed; a launcher that names an amount, and nothing else,
    means that amount.
    """
    return bool(cost.get("lower_bound", not cost.get("final", True)))


def _of_breakdown(source: Mapping[str, Any]) -> dict[str, Any]:
    parts = [usd(source.get(name)) for name in _PARTS]
    spent = None if parts[0] is None else sum(part or 0.0 for part in parts)
    bound = usd(source.get("accounted_upper_bound_usd"))
    if source.get("cost_final") and spent is not None and bound is not None:
        spent = max(spent, bound)
    return _cost(spent, source, "cost_breakdown", bound)


def _of_usage(source: Mapping[str, Any], origin: str) -> dict[str, Any]:
    amounts = [usd(source.get(name)) for name in ("cost_usd_with_children", "cost_usd")]
    spent = next((amount for amount in amounts if amount is not None), None)
    if source.get("cost_accounting_status") == "unavailable":
        spent = None
    bound = None
    if spent is not None and origin == "task_cost_finalized":
        open_calls = [usd(source.get(name)) for name in ("reserved_usd", "unresolved_upper_bound_usd")]
        bound = spent + sum(amount or 0.0 for amount in open_calls)
    return _cost(spent, source, origin, bound)


def _cost(spent: float | None, source: Mapping[str, Any], origin: str, bound: float | None) -> dict[str, Any]:
    unmetered = _count(source.get("unknown_unmetered")) + _count(source.get("subscription_sessions"))
    if spent == 0 and unmetered:
        spent = None
    whole = not unmetered and not source.get("ledger_integrity_degraded")
    final = bool(source.get("cost_final"))
    if spent is None or not whole:
        bound = None
    elif final:
        bound = spent
    return {
        "usd": spent,
        "final": final,
        "source": origin,
        "lower_bound": spent is not None and not (final and whole),
        "at_most_usd": None if bound is None else max(bound, spent or 0.0),
        "unknown_unmetered_calls": unmetered,
    }


def _count(value: object) -> int:
    return int(value) if isinstance(value, int) and value > 0 else 0
