"""How a task's record changes from stage to stage. Records are never changed in place: each stage makes a new one."""

import copy
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from obo_bench.practice.standin.axes import plain_axes, reported_axes
from obo_bench.practice.standin.clock import now_text
from obo_bench.practice.standin.meter import Meter
from obo_bench.practice.standin.scenarios import Ending

FINAL = frozenset({"completed", "failed", "cancelled", "rejected_duplicate"})
"""Statuses that never change again."""

SHUT_DOWN = (
    "Server shut down (external stop/restart signal) before this task finished; the task was interrupted, "
    "not a worker crash."
)
"""The result of a task that a stopping server took along."""

JsonObject = dict[str, Any]
"""One JSON object."""


@dataclass(frozen=True)
class Work:
    """What the solver has to show."""

    report: str
    """Its last word."""
    agreed: bool = False
    """Every probe agreed with the reference, and there was at least one."""
    tool_errors: Sequence[Mapping[str, Any]] = ()
    """Commands that failed, in the form of `cosmetic_tool_errors`."""
    trace: Sequence[str] = field(default_factory=tuple)
    """One line for each tool call."""


def running(record: JsonObject) -> JsonObject:
    """Return the record of a task that a worker has taken."""
    return _stage(record, "running", "pending", plain_axes("running", "pending")) | {
        "result": "Task is running.",
        "mutation_evidence": _mutation_evidence(record),
        "chat_id": 0,
        "role": None,
        "objective": record["description"],
        **dict.fromkeys(_NOT_USED),
        "headless_child_drive_root": record["child_drive_root"],
        "ts": now_text(),
    }


def paused(record: JsonObject) -> JsonObject:
    """Return the record of a task that found the budget spent before its first model call."""
    limit = {
        "status": "paused_before_dispatch", "scope": "global", "physical_calls": 0, "replay_safe": True,
        "auto_resume": False, "resume_policy": "manual_same_generation", "paused_at": now_text(),
    }  # fmt: skip
    axes = plain_axes("scheduled", "pending", reason="budget_exhausted")
    return _stage(record, "scheduled", "pending", axes) | {"reason_code": "budget_exhausted", "resource_limit": limit}


def resumed(record: JsonObject) -> JsonObject:
    """Return the record of a paused task that waits for a worker again."""
    kept = {name: value for name, value in record.items() if name not in ("reason_code", "resource_limit")}
    return _stage(kept, "scheduled", "pending", plain_axes("scheduled", "pending"))


def finalizing(record: JsonObject, ending: Ending, work: Work, meter: Meter, padding_bytes: int) -> JsonObject:
    """Return the record of a task whose agent is done while the server still collects its artifacts."""
    axes = reported_axes(ending, work.tool_errors, work.agreed, "running")
    result = ending.result or work.report
    refs = _trace_refs(padding_bytes)
    inner = copy.deepcopy(axes) | {
        "lifecycle": {"status": ending.status}, "artifacts": {"status": "not_applicable"},
    }  # fmt: skip
    return _stage(record, "running", "finalizing", axes) | {
        "result": result,
        "ts": now_text(),
        "root_phase_checkpoint": {
            "phase": "task_acceptance", "status": axes["review"]["status"], "pass_index": 0,
            "post_task_synthesis": "pending_once",
        },
        **meter.family_fields(),
        "subagent_envelope": {},
        "reason_code": ending.reason_code,
        "review_status": axes["review"],
        "loop_outcome": _loop_outcome(ending, inner, result, meter, refs),
        "title": None,
        "final_answer": "",
        "trace_summary": _trace_summary(work),
        "trace_refs": refs,
        "review_evidence": _review_evidence(record),
        "review_projection": {"panels": []},
        "verification_ledger": _verification_ledger(record, inner),
        "child_status": ending.status,
        **ending.evidence,
    }  # fmt: skip


def finished(record: JsonObject, ending: Ending, artifact_status: str, artifacts: list[JsonObject]) -> JsonObject:
    """Return the final record of a task that was `finalizing`."""
    axes = copy.deepcopy(record["outcome_axes"]) | {
        "lifecycle": {"status": ending.status}, "artifacts": {"status": artifact_status},
    }  # fmt: skip
    shown = with_artifacts(record, artifacts)
    return _stage(shown, ending.status, artifact_status, axes) | {"artifact_finalized_at": now_text()}


def ended_by_supervisor(record: JsonObject, ending: Ending, usage: Mapping[str, Any]) -> JsonObject:
    """Return the final record of a task whose worker did not live to report."""
    trigger = "worker_terminal" if usage else "runtime_reconciliation"
    axes = plain_axes(ending.status, "failed", ending.execution, ending.reason_code, trigger)
    return _stage(record, ending.status, "failed", axes) | {
        "result": ending.result, "reason_code": ending.reason_code, "ts": now_text(), **usage, **ending.evidence,
    }  # fmt: skip


def cancelled(record: JsonObject, result: str, meter: Meter | None, *, by_shutdown: bool = False) -> JsonObject:
    """Return the final record of a cancelled task; `meter` is None when no worker had it."""
    kept = {name: value for name, value in record.items() if name in _IDENTITY}
    trigger = "worker_terminal" if by_shutdown else "not_evaluated"
    axes = plain_axes("cancelled", "missing", "cancelled", "cancelled", trigger)
    ended = _stage(kept, "cancelled", "missing", axes) | {"result": result}
    if meter is not None:
        ended |= {"mutation_evidence": record["mutation_evidence"], **meter.fields()}
    if by_shutdown:
        return ended | {"reason_code": "cancelled", **(meter or Meter()).fields(), "cost_final": True}
    reason = "Task cancelled before workspace patch finalization."
    return ended | {"artifact_error": reason, "artifact_bundle": ended["artifact_bundle"] | {"errors": [reason]}}


def with_artifacts(record: JsonObject, artifacts: list[JsonObject]) -> JsonObject:
    """Return the record with further artifacts in it."""
    listed = [*record["artifacts"], *artifacts]
    brief = [{name: value for name, value in entry.items() if name in _BRIEF} for entry in listed]
    return record | {"artifacts": listed, "artifact_bundle": record["artifact_bundle"] | {"artifacts": brief}}


_BRIEF = ("kind", "name", "path", "size", "sha256", "status", "errors")
_NOT_USED = (
    "task_constraint", "model_lane", "requested_model_lane", "effective_model_lane", "model", "use_local_model",
    "task_group_id", "task_group", "subagent_envelope", "origin_message_ref", "origin_message_text",
)  # fmt: skip
_IDENTITY = frozenset({
    "parent_task_id", "root_task_id", "session_id", "actor_id", "delegation_role", "project_id", "description",
    "context", "expected_output", "constraints", "allowed_resources", "deadline_at", "task_contract",
    "workspace_root", "workspace_mode", "memory_mode", "child_drive_root", "budget_drive_root", "artifacts",
    "metadata", "task_id", "ts", "artifact_bundle",
})  # fmt: skip


def _stage(record: JsonObject, status: str, artifact_status: str, axes: JsonObject) -> JsonObject:
    bundle = record["artifact_bundle"] | {"status": artifact_status}
    return record | {
        "status": status, "artifact_status": artifact_status, "artifact_bundle": bundle, "outcome_axes": axes,
        "updated_at": now_text(),
    }  # fmt: skip


def _mutation_evidence(record: JsonObject) -> JsonObject:
    baseline = {
        "captured_at": now_text(), "owner_kind": "task_root", "owner_id": record["task_id"], "surfaces": [],
        "baseline_hash": "",
    }  # fmt: skip
    snapshot = {"captured_at": now_text(), "baseline_hash": "", "surfaces": []}
    return {
        "version": 1, "baseline": baseline, "effect_state": "quiescent", "flags": [],
        "terminal_candidate_snapshot": snapshot,
    }  # fmt: skip


def _trace_refs(padding_bytes: int) -> JsonObject:
    unit = "0" * 1000
    refs = [{"round": number, "call_id": unit} for number in range(padding_bytes // len(unit))]
    return {"execution_id": f"exec_{uuid.uuid4().hex}", "llm_call_refs": [], "tool_call_refs": refs}


def _loop_outcome(ending: Ending, axes: JsonObject, result: str, meter: Meter, refs: JsonObject) -> JsonObject:
    usage = meter.fields()
    known = {"cost_usd": usage["cost_usd"] if meter.usd_per_round is not None else None}
    counts = {name: usage[name] for name in ("prompt_tokens", "completion_tokens", "total_rounds")}
    return {
        "schema_version": 3,
        "outcome_axes": axes,
        "review_eligibility": axes["review"]["eligibility"],
        "review_trigger": axes["review"]["trigger"],
        "finish_reason": ending.reason_code,
        "reason_code": ending.reason_code,
        "final_text": result,
        "final_answer": "",
        "final_answer_missing_sentinel": True,
        "failure": axes["execution"]["failure"],
        "recoveries": [],
        "usage": {**known, **counts},
        "trace_refs": refs,
    }


def _trace_summary(work: Work) -> str:
    head = f"## Tool trace ({len(work.trace)} calls, 0 errors, {len(work.tool_errors)} cosmetic)"
    calls = [f"{number}. {line}" for number, line in enumerate(work.trace, 1)] or ["No tool calls."]
    return "\n".join([head, *calls])


def _review_evidence(record: JsonObject) -> JsonObject:
    repo = {
        "snapshot_hash": "", "advisory_status": "missing", "repo_commit_ready": False, "bypass_reason": "",
        "stale_reason": "", "stale_ts": "",
    }  # fmt: skip
    return {
        "task_id": record["task_id"], "repo_key": "", "current_repo": repo, "recent_attempts": [],
        "omitted_attempts": 0, "recent_advisory_runs": [], "omitted_advisory_runs": 0, "open_obligations": [],
        "omitted_obligations": 0, "commit_readiness_debts": [], "continuations": [], "omitted_continuations": 0,
        "corrupt_continuations": [], "omitted_corrupt": 0, "has_evidence": False,
    }  # fmt: skip


def _verification_ledger(record: JsonObject, axes: JsonObject) -> JsonObject:
    return {
        "schema_version": 2, "created_at": now_text(), "task_id": record["task_id"],
        "task_contract": record["task_contract"], "outcome_axes": axes, "entries": [],
        "summary": {"entry_count": 0, "has_failures": axes["execution"]["status"] != "ok"},
    }  # fmt: skip
