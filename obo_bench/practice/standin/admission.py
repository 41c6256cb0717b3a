"""The checks of `POST /api/tasks`, in the server's order and words; unknown fields are ignored without a word."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from obo_bench.practice.standin.config import TASK_ID, TASK_ID_ERROR, StandInConfig
from obo_bench.practice.standin.executor_ref import RequestRefusedError, normalized_executor, refuse_overlap
from obo_bench.practice.standin.gitrepo import worktree_root

_INTERNAL_TYPES = ("review", "evolution")
_PROJECT_ID = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Admitted:
    """A request that passed every check."""

    task_id: str
    """The client's id; empty when the server has to choose one."""
    body: Mapping[str, Any]
    """The request as it came."""
    metadata: Mapping[str, Any]
    """The client's own metadata."""
    workspace: Path | None
    """The workspace, links resolved."""
    memory_mode: str
    """forked, empty or shared."""
    executor: Mapping[str, Any] | None
    """The normalised `executor_ref`."""
    deadline: datetime | None
    """When the task must be over."""


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the body as an object, empty when it is no JSON at all; raises RequestRefusedError for other JSON."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        raise RequestRefusedError("request body must be a JSON object")
    return value


def check_request(
    body: Mapping[str, Any], config: StandInConfig, unready: Callable[[], str | None], taken: Callable[[str], bool]
) -> Admitted:
    """Check a task request; raises RequestRefusedError.

    `unready` says why no task is accepted now, `taken` knows the used ids.
    """
    if not str(body.get("description") or "").strip():
        raise RequestRefusedError("description is required")
    reason = unready()
    if reason is not None:
        raise RequestRefusedError(reason, 503)
    task_id = _task_id(body, taken)
    workspace = _workspace(body, config)
    memory_mode = _memory_mode(body, workspace)
    metadata = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    _check_fields(body, workspace)
    _check_metadata(body, metadata or {})
    executor = normalized_executor(body, workspace, config.repo_dir, config.data_dir)
    return Admitted(task_id, body, metadata or {}, workspace, memory_mode, executor, _deadline(body))


def _task_id(body: Mapping[str, Any], taken: Callable[[str], bool]) -> str:
    task_id = str(body.get("task_id") or "")
    if task_id and not TASK_ID.fullmatch(task_id):
        raise RequestRefusedError(TASK_ID_ERROR)
    if task_id and taken(task_id):
        raise RequestRefusedError(f"task_id already exists: {task_id}", 409)
    return task_id


def _workspace(body: Mapping[str, Any], config: StandInConfig) -> Path | None:
    named = str(body.get("workspace_root") or "")
    if not named:
        return None
    path = Path(named).resolve()
    refuse_overlap("workspace_root", path, config.repo_dir, config.data_dir)
    if not config.sees_host_files or not path.is_dir():
        raise RequestRefusedError(f"workspace_root is not a directory: {path}")
    top = worktree_root(path)
    if top is None:
        raise RequestRefusedError("workspace_root must be a git worktree root")
    if top != path:
        raise RequestRefusedError(f"workspace_root must be the git worktree root: {top}")
    return path


def _memory_mode(body: Mapping[str, Any], workspace: Path | None) -> str:
    mode = str(body.get("memory_mode") or ("forked" if workspace else "shared"))
    if mode not in ("forked", "empty", "shared"):
        raise RequestRefusedError("memory_mode must be one of forked, empty, shared")
    if mode == "shared" and workspace is not None:
        raise RequestRefusedError("memory_mode=shared is not allowed for external workspaces; use forked or empty")
    return mode


def _check_fields(body: Mapping[str, Any], workspace: Path | None) -> None:
    if not _PROJECT_ID.fullmatch(str(body.get("project_id") or "_")):
        raise RequestRefusedError("project_id must be filesystem-safe (alphanumeric/_/-/., no spaces or slashes)")
    kind = str(body.get("type") or "task")
    if kind in _INTERNAL_TYPES:
        raise RequestRefusedError(
            f"task type '{kind}' is internal-only and cannot be created via the task API (use /evolve or /review); "
            "evolution additionally requires advanced/pro runtime mode"
        )
    if workspace is not None and kind != "task":
        raise RequestRefusedError("external workspace tasks must use type='task'")
    try:
        int(body.get("chat_id") or 0), int(body.get("depth") or 0)
    except (TypeError, ValueError, OverflowError):
        raise RequestRefusedError("chat_id and depth must be integers") from None
    if body.get("delegation_role") == "subagent":
        raise RequestRefusedError(
            "delegation_role=subagent is only allowed through the internal schedule_subagent tool"
        )
    if body.get("parent_task_id") or body.get("root_task_id"):
        raise RequestRefusedError(
            "parent_task_id and root_task_id are internal lineage fields; external tasks must start as roots"
        )


def _check_metadata(body: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    if "project_id" in metadata:
        raise RequestRefusedError("project_id must be a top-level field, not metadata")
    if str(body.get("service_teardown") or "stop") not in ("stop", "keep"):
        raise RequestRefusedError("service_teardown must be 'stop' or 'keep'")
    if "executor_ref" in metadata or "workspace_executor" in metadata:
        raise RequestRefusedError(
            "metadata.executor_ref/workspace_executor is reserved; pass executor_ref as a top-level task field"
        )


def _deadline(body: Mapping[str, Any]) -> datetime | None:
    named = str(body.get("deadline_at") or "")
    if named:
        try:
            moment = datetime.fromisoformat(named)
            universal = moment.astimezone(UTC)
        except (ValueError, OverflowError):
            raise RequestRefusedError("deadline_at must be an ISO-8601 datetime") from None
        if moment.tzinfo is None:
            raise RequestRefusedError("deadline_at must include a timezone offset or Z")
        return universal
    return _after(body.get("timeout_sec", body.get("timeout")))


def _after(limit: object) -> datetime | None:
    """Anything but a positive number of seconds silently means no deadline, as with the real server."""
    try:
        seconds = float(limit)  # type: ignore[arg-type]  # whatever JSON holds
        later = datetime.now(UTC) + timedelta(seconds=seconds)
    except (TypeError, ValueError, OverflowError):
        return None
    return later if seconds > 0 and math.isfinite(seconds) else None
