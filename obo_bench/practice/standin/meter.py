"""What a task has used so far: the pretended model calls and their price."""

from dataclasses import dataclass
from typing import Any

ROUNDS_AFTER_END = 2
"""Model calls after the agent's last word (summary, reflection): in the ledger, but not in the record."""

_PROMPT_TOKENS = 26_000
_COMPLETION_TOKENS = 25


@dataclass
class Meter:
    """Counts the rounds of one task; prices are US dollars."""

    usd_per_round: float | None = 0.0
    """The price of a round; None when it is unknown."""
    rounds: int = 0
    """Model calls so far."""

    def fields(self, *, final: bool = False) -> dict[str, Any]:
        """Return the usage fields of a record; `final` adds the calls after the end and closes the account."""
        rounds = self.rounds + (ROUNDS_AFTER_END if final else 0)
        return {
            "cost_final": final and self.usd_per_round is not None,
            "cost_accounting_status": "available",
            "cost_usd": round(rounds * (self.usd_per_round or 0.0), 4),
            "total_rounds": rounds,
            "prompt_tokens": rounds * _PROMPT_TOKENS,
            "completion_tokens": rounds * _COMPLETION_TOKENS,
            "reserved_usd": 0.0,
            "unresolved_upper_bound_usd": 0.0,
            "unknown_unmetered": rounds if self.usd_per_round is None else 0,
            "ledger_integrity_degraded": False,
        }

    def family_fields(self, *, final: bool = False) -> dict[str, Any]:
        """Return the usage fields of a root task together with those of its children (it has none)."""
        own = self.fields(final=final)
        return {**own, "cost_with_children_partial": not own["cost_final"], "cost_usd_with_children": own["cost_usd"]}
