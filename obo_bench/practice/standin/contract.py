"""The first record of a task: what the client asked for, in the server's normalised form."""

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.practice.standin.admission import Admitted
from obo_bench.practice.standin.axes import plain_axes
from obo_bench.practice.standin.clock import deadline_text, now_text
from obo_bench.practice.standin.gitrepo import head_state

_RESERVED = ("task_id", "root_task_id", "parent_task_id", "actor_id", "session_id", "drive_root", "deadline_at",
             "allowed_resources", "task_contract", "delegation_role", "workspace_root")  # fmt: skip
_NO = ("no", "off", "false", "0", "blocked", "block", "none", "deny", "denied", "disabled")
_PROFILE = ("max_improvement_passes", "reserve_finalization_pct", "stall_rounds_threshold", "cost_hard_stop_pct")
_CLAIM_LIMITS = {"id": 120, "claim": 600, "surface": 300, "support": 500, "priority": 20}
_TOOLS = ("apt", "apt-get", "git", "go", "node", "npm", "npx", "pip", "pip3", "pytest", "python", "python3", "uv")

JsonObject = dict[str, Any]
"""One JSON object."""


def first_record(task_id: str, admitted: Admitted, data_dir: Path) -> JsonObject:
    """Return the record of a task that was just accepted, still without artifacts."""
    body = admitted.body
    session = str(body.get("session_id") or uuid.uuid4().hex)
    contract = _contract(task_id, session, admitted)
    drive = str(data_dir / "state" / "headless_tasks" / task_id / "data")
    moment = now_text()
    shared = {
        "session_id": session,
        "actor_id": str(body.get("actor_id") or "cli"),
        "delegation_role": "root",
        "root_task_id": task_id,
    }
    return {
        "parent_task_id": None,
        **shared,
        "project_id": str(body.get("project_id") or f"proj_{uuid.uuid5(uuid.NAMESPACE_URL, task_id).hex[:12]}"),
        "description": str(body["description"]),
        **{name: str(body.get(name) or "") for name in ("context", "expected_output", "constraints")},
        "allowed_resources": contract["allowed_resources"],
        "deadline_at": contract["deadline_at"],
        "task_contract": contract,
        "workspace_root": str(admitted.workspace or ""),
        "workspace_mode": contract["workspace"]["mode"],
        "memory_mode": admitted.memory_mode,
        "child_drive_root": drive,
        "budget_drive_root": str(data_dir),
        "artifacts": [],
        "artifact_status": "pending",
        "metadata": _metadata(admitted, contract, shared, drive, data_dir),
        "result": "Task accepted and scheduled.",
        "task_id": task_id,
        "status": "scheduled",
        "ts": moment,
        "updated_at": moment,
        "drive_root": drive,
        "artifact_bundle": {"schema_version": 1, "status": "pending", "artifacts": [], "errors": []},
        "outcome_axes": plain_axes("scheduled", "pending"),
    }


def _contract(task_id: str, session: str, admitted: Admitted) -> JsonObject:
    body = admitted.body
    mode = str(body.get("workspace_mode") or ("external" if admitted.workspace else ""))
    return {
        "schema_version": 1,
        "status": "draft",
        "source": "host_draft",
        "task_type": str(body.get("type") or "task"),
        "objective": str(body["description"]),
        "expected_output": str(body.get("expected_output") or ""),
        "constraints": str(body.get("constraints") or ""),
        "success_criteria": [],
        "acceptance_claims": [_claim(entry) for entry in _objects(body.get("acceptance_claims"))],
        "allowed_resources": _resources(body.get("allowed_resources")),
        "resource_policy": _policy(body.get("resource_policy")),
        "disabled_tools": _names(body.get("disabled_tools")),
        "deadline_at": deadline_text(admitted.deadline),
        "context_requires_self_body_docs": False,
        "workspace": {"root": str(admitted.workspace or ""), "mode": mode},
        "lineage": {
            "parent_task_id": "", "root_task_id": task_id, "session_id": session, "delegation_role": "root",
        },
        "delegation_budget": {
            "may_delegate": True, "may_mutate": False, "may_fan_out": True,
            "depth_remaining": None, "max_children": None, "intent_note": "",
        },
        "budget_profile": _profile(admitted.metadata.get("budget_profile")),
        "answer_protocol": str(body.get("answer_protocol") or ""),
    }  # fmt: skip


def _metadata(admitted: Admitted, contract: JsonObject, shared: JsonObject, drive: str, data_dir: Path) -> JsonObject:
    executor = {"executor_ref": dict(admitted.executor)} if admitted.executor else {}
    root = str(admitted.workspace or "")
    return {
        "source": str(admitted.body.get("source") or "api_task"),
        **{name: value for name, value in admitted.metadata.items() if name not in _RESERVED},
        **{name: contract[name] for name in ("allowed_resources", "resource_policy", "disabled_tools")},
        "acceptance_claims": contract["acceptance_claims"],
        **executor,
        "deadline_at": contract["deadline_at"],
        **shared,
        "task_id": shared["root_task_id"],
        "parent_task_id": "",
        "workspace_root": root,
        "workspace_preflight": _preflight(admitted.workspace),
        "task_contract": contract,
        "child_drive_root": drive,
        "budget_drive_root": str(data_dir),
    }


def _preflight(workspace: Path | None) -> JsonObject:
    available = [name for name in _TOOLS if shutil.which(name)]
    return {
        "schema_version": 1,
        "workspace_root": str(workspace or ""),
        "git": head_state(workspace) if workspace else {},
        "manifests": [],
        "tools": {"available": available, "missing": [name for name in _TOOLS if name not in available]},
    }


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _claim(entry: Mapping[str, Any]) -> JsonObject:
    return {name: str(entry.get(name) or "")[:limit] for name, limit in _CLAIM_LIMITS.items()}


def _resources(value: object) -> JsonObject:
    named = value if isinstance(value, dict) else {}
    return {
        str(name): allowed.strip().lower() not in _NO if isinstance(allowed, str) else bool(allowed)
        for name, allowed in named.items()
    }


def _policy(value: object) -> JsonObject:
    if not isinstance(value, dict):
        return {}
    protected = [dict(entry) for entry in _objects(value.get("protected_artifacts")) if entry.get("paths")]
    return {**value, "protected_artifacts": protected} if "protected_artifacts" in value else dict(value)


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(name) for name in value] if isinstance(value, list) else []


def _profile(value: object) -> JsonObject:
    given = value if isinstance(value, dict) else {}
    policy = given.get("improvement_policy")
    known = policy if policy in ("fixed", "adaptive", "until_deadline") else "fixed"
    return {"improvement_policy": known, **{name: given.get(name) for name in _PROFILE}}
