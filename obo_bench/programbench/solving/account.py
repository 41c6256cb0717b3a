"""What a run has cost: every attempt once, over all invocations, however often the ledger repeats it."""

from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import is_lower_bound, usd

Charged = tuple[str, int]
"""Instance and attempt: each attempt has one task of ours, whatever the server retries below it."""


class Account:
    """Adds up the costs that a ledger's rows tell; not safe to share between threads."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._charges: dict[Charged, dict[str, Any]] = {}
        for row in rows:
            self.note(row)

    def note(self, row: Row) -> None:
        """Take a row into account; a later one of the same attempt replaces its cost, but never by an unknown one."""
        if not row.cost and not row.details.get("task_id"):
            return
        charged = (row.instance_id, row.attempt)
        if charged not in self._charges or usd(row.cost.get("usd")) is not None:
            self._charges[charged] = row.cost

    def knows(self, instance_id: str, attempt: int) -> bool:
        """Say whether the cost of an attempt is known."""
        return usd(self._charges.get((instance_id, attempt), {}).get("usd")) is not None

    def sums(self, without: Container[Charged] = ()) -> tuple[float, int]:
        """Return the known costs in USD, and how many attempts have an unknown one, less the attempts in `without`."""
        amounts = [usd(cost.get("usd")) for charged, cost in self._charges.items() if charged not in without]
        known = [amount for amount in amounts if amount is not None]
        return round(sum(known), 6), len(amounts) - len(known)

    def document(self) -> dict[str, Any]:
        """Return the totals for the manifest; the sum is a lower bound as soon as one cost is unknown or one itself."""
        charges = list(self._charges.values())
        known_usd, unknown = self.sums()
        return {
            "known_usd": known_usd,
            "known": len(charges) - unknown,
            "unknown": unknown,
            "lower_bound": unknown > 0 or any(map(is_lower_bound, charges)),
            "at_most_usd": self._at_most(),
            "sources": dict(sorted(Counter(str(charge.get("source", "none")) for charge in charges).items())),
        }

    def _at_most(self) -> float | None:
        bounds = [usd(_bound(charge)) for charge in self._charges.values()]
        known = [bound for bound in bounds if bound is not None]
        return round(sum(known), 6) if len(known) == len(bounds) else None


def _bound(charge: dict[str, Any]) -> object:
    """A row of version 0.1.0 knows no bound of its own: only a closed account has one."""
    return charge.get("at_most_usd", charge.get("usd") if charge.get("final") else None)
