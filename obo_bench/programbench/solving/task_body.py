"""The body of POST /api/tasks for one instance: exactly what the benchmark's reference adapter sends, and our task id.

The server ignores unknown keys without a word and turns a bad `timeout_sec` into no deadline at all, so the shape is
held by a recorded body.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS, WORKSPACE

DENIED_OPERATIONS = ("read_bytes", "copy", "hash", "static_introspection", "dynamic_trace", "debug")
"""What the reference may not be subjected to; running it is the one thing allowed."""

DISABLED_TOOLS = ("claude_code_edit", "schedule_subagent")
"""Tools of the server that are withheld: they would work outside the container."""

_BENCHMARK = "programbench"
_NETWORK = "none"


def build_task_body(
    *,
    instance_id: str,
    task_id: str,
    description: str,
    workspace: Path,
    container_name: str,
    image: str,
    timeout_sec: float,
    protected_paths: Sequence[str] = DEFAULT_PROTECTED_PATHS,
) -> dict[str, Any]:
    """Return the JSON body; `workspace` is the absolute path on the host, `timeout_sec` counts from submission.

    Raises ValueError for values that the server would accept and misread: a blank description, a relative workspace,
    a timeout that is not positive.
    """
    if not description.strip() or not workspace.is_absolute() or not 0 < timeout_sec < float("inf"):
        raise ValueError(
            f"task body of {instance_id}: need a description ({len(description)} characters), an absolute workspace "
            f"({workspace}) and a positive timeout ({timeout_sec})"
        )
    return {
        "task_id": task_id,
        "description": description,
        "workspace_root": str(workspace),
        "workspace_mode": "external",
        "memory_mode": "empty",
        "allowed_resources": {"web": False, "network": False, "internet": False},
        "resource_policy": {"protected_artifacts": [_protected_reference(protected_paths)]},
        "executor_ref": _executor(container_name, workspace),
        "disabled_tools": list(DISABLED_TOOLS),
        "actor_id": _BENCHMARK,
        "source": _BENCHMARK,
        "acceptance_claims": [_behavioral_equivalence()],
        "metadata": {
            "source": _BENCHMARK,
            "budget_profile": _budget_profile(),
            "programbench_instance_id": instance_id,
            "cleanroom_preflight": {"image": image, "network": _NETWORK},
        },
        "timeout_sec": float(timeout_sec),
    }


def _protected_reference(paths: Sequence[str]) -> dict[str, Any]:
    return {
        "id": "programbench_reference",
        "role": "black_box_reference",
        "paths": list(paths),
        "allow": ["execute"],
        "deny": list(DENIED_OPERATIONS),
    }


def _executor(container_name: str, workspace: Path) -> dict[str, Any]:
    return {
        "type": "docker_exec",
        "id": container_name,
        "container_name": container_name,
        "network": _NETWORK,
        "workspace_host_path": str(workspace),
        "workspace_backend_path": WORKSPACE,
    }


def _behavioral_equivalence() -> dict[str, Any]:
    return {
        "id": "behavioral_equivalence",
        "claim": (
            "The built deliverable reproduces the provided reference executable's observable behavior; a diff against "
            "that reference is an independent oracle available in this environment."
        ),
        "surface": "differential runs of the deliverable vs the provided reference executable",
        "support": (
            "verification receipts from differential probe passes; aim verification at EXPANDING behavioral coverage "
            "(flags, boundaries, error paths), not at repeating already-green probes"
        ),
        "priority": "must",
    }


def _budget_profile() -> dict[str, Any]:
    """Work until the deadline; the cost ceiling is the run's own, so the task has none (0)."""
    return {
        "cost_hard_stop_pct": 0,
        "improvement_policy": "until_deadline",
        "max_improvement_passes": 6,
        "reserve_finalization_pct": 15,
        "stall_rounds_threshold": 12,
    }
