"""Write down in the manifest how a launcher ended; nothing may tear this."""

from collections.abc import Mapping, Sequence
from typing import Any

from obo_bench.core.ending import LONGEST_MESSAGE
from obo_bench.core.manifest import ErrorRecord, Outcome, RunManifest
from obo_bench.launch.child.supervised import ChildEnd
from obo_bench.launch.contract.child_outcome import LONGEST_TEXT, ChildOutcome
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.executing.server_watch import ServerWatch
from obo_bench.launch.executing.stop import Stop

_COUNTS = ("completed", "failed", "skipped", "not_attempted", "degraded")
_LONGEST_WORD = 200
_MOST_UNKNOWN = 20


def record_end(manifest: RunManifest, end: ChildEnd, stop: Stop | None, interrupted: int | None) -> None:
    """Record the launcher's own status, who stopped it, and what outlived it."""
    manifest.extra.child_exit_code = end.exit_status
    manifest.extra.child_report |= {
        "timed_out": stop is not None and stop.why == "timeout",
        "stopped_for": stop.detail if stop else f"signal {interrupted}" if interrupted else None,
        "left_processes": dict(end.left),
        "guardian_lost": end.status is None,
    }
    if stop is not None and stop.refusal is not None:
        manifest.extra.refusal = stop.refusal


def record_why(manifest: RunManifest, outcome: Outcome, why: str) -> None:
    """Record why it did not end well, where everybody looks for that: the refusal's message, else the error's."""
    extra = manifest.extra
    if outcome == "completed":
        return
    if extra.refusal is not None:
        extra.refusal = extra.refusal.model_copy(update={"message": why[:LONGEST_MESSAGE]})
    else:
        extra.error = ErrorRecord(type=outcome, message=why[:LONGEST_MESSAGE])


def record_evidence(manifest: RunManifest, evidence: Evidence, problems: Sequence[str]) -> None:
    """Record what the launcher said, and what was found wrong."""
    manifest.extra.child_report |= {
        "claim": _claim(evidence.claim),
        "announced": list(evidence.announced),
        "rows_taken": evidence.child_rows.taken,
        "rows_bad": evidence.child_rows.bad,
        "problems": list(problems),
    }


def record_counts(manifest: RunManifest, counts: Mapping[str, int] | None, claim: ChildOutcome | None) -> list[str]:
    """Record the counts: those of the rows, else the claimed ones. Returns where the two disagree."""
    claimed = {name: getattr(claim, f"{name}_count") if claim else None for name in _COUNTS}
    for name in _COUNTS:
        setattr(manifest.extra, f"{name}_count", counts[name] if counts is not None else claimed[name])
    if counts is None:
        return []
    return [
        f"the launcher claims {claimed[name]} {name}, the rows say {counts[name]}"
        for name in _COUNTS
        if claimed[name] is not None and claimed[name] != counts[name]
    ]


def record_cost(
    manifest: RunManifest, evidence: Evidence, server: ServerWatch | None, spent: float | None, ceiling: float | None
) -> None:
    """Record what this invocation has cost, by whoever says so; amounts are USD."""
    at_start, now = (server.at_start, server.now) if server else (None, None)
    manifest.extra.cost = {
        "known_usd": spent,
        "rows_usd": evidence.rows_usd(),
        "claimed_usd": evidence.claimed_usd(),
        "ceiling_usd": ceiling,
        "server": {
            "total_budget_usd": at_start.limit_usd if at_start else None,
            "spent_usd_at_start": at_start.spent_usd if at_start else None,
            "spent_usd_at_end": now.spent_usd if now else None,
        },
    }


def _claim(claim: ChildOutcome | None) -> dict[str, Any] | None:
    """Return the fields that the format has, cut to a bearable length; of others only the names."""
    if claim is None:
        return None
    known = {name: value for name, value in claim.document().items() if name not in (claim.model_extra or {})}
    return known | {
        "outcome": str(claim.outcome)[:_LONGEST_WORD],
        "refusal_reason": claim.refusal_reason[:_LONGEST_WORD] if claim.refusal_reason else claim.refusal_reason,
        "message": claim.message[:LONGEST_TEXT],
        "unknown_fields": [name[:_LONGEST_WORD] for name in list(claim.model_extra or {})[:_MOST_UNKNOWN]],
    }
