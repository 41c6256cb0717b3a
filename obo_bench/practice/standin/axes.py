"""The `outcome_axes` of a record at each stage of a task."""

from collections.abc import Mapping, Sequence
from typing import Any

from obo_bench.practice.standin.scenarios import Ending

Axes = dict[str, Any]
"""A JSON object."""


def plain_axes(status: str, artifacts: str, execution: str = "ok", reason: str = "", trigger: str = "") -> Axes:
    """Return the short form: before the end, and for endings that the supervisor wrote."""
    return {
        "schema_version": 1,
        "lifecycle": {"status": status},
        "execution": {"status": execution, "reason_code": reason},
        "artifacts": {"status": artifacts},
        "objective": {"status": "not_evaluated", "source": "none"},
        "review": {"status": "skipped", "trigger": trigger or "not_evaluated"},
    }


def reported_axes(ending: Ending, tool_errors: Sequence[Mapping[str, Any]], agreed: bool, status: str) -> Axes:
    """Return the long form of an ending that the agent itself reported; `agreed` means that every probe agreed."""
    failed = ending.status == "failed"
    reviewed = ending.execution == "ok"
    return {
        "schema_version": 1,
        "lifecycle": {"status": status},
        "execution": {
            "status": ending.execution,
            "reason_code": ending.reason_code,
            "failure": {"kind": "agent", "reason_code": ending.reason_code} if failed else None,
            **({"resource_limit": dict(_RESOURCE_LIMIT)} if ending.reason_code == "budget_exhausted" else {}),
            "recoveries": [],
            "cosmetic_tool_errors": [dict(error) for error in tool_errors],
            "ignored_tool_errors": [],
            "policy_denials": [],
            "mutation_attribution": dict(_MUTATION),
        },
        "artifacts": {"status": "finalizing"},
        "objective": _objective(agreed) if reviewed else dict(_NO_OBJECTIVE),
        "review": review_status(agreed) if reviewed else dict(_NO_REVIEW),
    }


def review_status(agreed: bool) -> Axes:
    """Return the review of a task that was looked at: accepted, or without a usable verdict."""
    verdict = "pass" if agreed else "degraded"
    decision = "accepted" if agreed else "review_degraded"
    rationale = "Every scripted probe agreed with the reference." if agreed else "Not every scripted probe agreed."
    return {
        "status": verdict,
        "trigger": "auto_effect",
        "eligibility": "eligible",
        "run_count": 1,
        "aggregate_signals": [verdict.upper()],
        **({"outcome_tier": "solved"} if agreed else {}),
        "acceptance_decision": {
            "status": decision,
            "source": "task_acceptance_review",
            "rationale": rationale,
            "agent_disposition": "",
            "agent_rationale": "",
        },
    }


def _objective(agreed: bool) -> Axes:
    verdict = "pass" if agreed else "degraded"
    tier = {"outcome_tier": "solved"} if agreed else {}
    return {"status": verdict, "source": "task_acceptance_review", "review_status": verdict, **tier}


_NO_OBJECTIVE = {
    "status": "not_evaluated",
    "source": "none",
    "review_status": "skipped",
    "ignored_status": "degraded",
    "ignored_source": "delivery_finalization_control",
}
_NO_REVIEW = {"status": "skipped", "trigger": "not_evaluated", "eligibility": "not_eligible", "run_count": 0}
_RESOURCE_LIMIT = {
    "status": "resource_limited",
    "scope": "global",
    "root_task_id": "",
    "physical_calls": 0,
    "replay_safe": False,
    "auto_resume": False,
    "resume_policy": "cancel_or_new_run",
}
_MUTATION = {
    "version": 1,
    "present": True,
    "baseline_hash": "",
    "effect_state": "quiescent",
    "flags": [],
    "surface_counts": {"system_repo": 1},
    "known_path_count": 0,
    "preexisting_dirty_count": 0,
    "terminal_snapshot_present": True,
    "terminal_candidate_count": 0,
    "terminal_excluded_count": 0,
    "blockers": [],
    "clean_eligible": True,
}
