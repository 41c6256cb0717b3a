"""The checks of a task's `executor_ref`, in the server's order and words, and its normalised form."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

TYPES = ("local", "docker_exec")
NETWORKS = ("host", "none")


class RequestRefusedError(Exception):
    """A request that is answered by an error; carries the HTTP status and the text."""

    def __init__(self, error: str, status: int = 400) -> None:
        super().__init__(error)
        self.error = error
        self.status = status


def overlaps(first: Path, second: Path) -> bool:
    """Say whether one directory is the other or lies inside it."""
    return first == second or first in second.parents or second in first.parents


def refuse_overlap(subject: str, path: Path, repo_dir: Path, data_dir: Path) -> None:
    """Raise RequestRefusedError when `path` touches the server's own directories."""
    for own, name in ((repo_dir, "system repo"), (data_dir, "data drive")):
        if overlaps(path, own.resolve()):
            raise RequestRefusedError(f"{subject} must not overlap the Ouroboros {name}")


def normalized_executor(
    body: Mapping[str, Any], workspace: Path | None, repo_dir: Path, data_dir: Path
) -> dict[str, Any] | None:
    """Return the executor with its path mappings, None when none is asked for; raises RequestRefusedError."""
    if "executor_ref" not in body:
        return None
    reference = body["executor_ref"]
    if not isinstance(reference, dict) or not reference:
        raise RequestRefusedError("executor_ref must be a JSON object")
    if workspace is None:
        raise RequestRefusedError("executor_ref requires an external workspace_root")
    _check_kind(reference)
    mappings = _mappings(reference)
    if reference["type"] == "docker_exec" and not str(reference.get("container_name") or "").strip():
        raise RequestRefusedError("docker_exec executor_ref requires container_name")
    for mapping in mappings:
        refuse_overlap("executor_ref mapping", Path(mapping["host_path"]).resolve(), repo_dir, data_dir)
    hosts = [Path(mapping["host_path"]).resolve() for mapping in mappings]
    if not any(host == workspace or host in workspace.parents for host in hosts):
        raise RequestRefusedError("executor_ref mappings must cover workspace_root")
    return {**reference, "path_mappings": mappings}


def _check_kind(reference: Mapping[str, Any]) -> None:
    kind = str(reference.get("type") or "").strip()
    network = str(reference.get("network") or "host").strip()
    if not kind:
        raise RequestRefusedError("executor_ref.type is required")
    if kind not in TYPES:
        raise RequestRefusedError(f"unsupported executor_ref.type: {kind}")
    if network not in NETWORKS:
        raise RequestRefusedError("executor_ref.network must be 'host' or 'none'")
    if kind == "local" and network == "none":
        raise RequestRefusedError("local executor_ref cannot enforce network=none; use docker_exec")


def _mappings(reference: Mapping[str, Any]) -> list[dict[str, str]]:
    listed = reference.get("path_mappings", [])
    if not isinstance(listed, list):
        raise RequestRefusedError("executor_ref.path_mappings must be a list")
    pairs = [_pair(entry) for entry in listed]
    host, backend = (str(reference.get(f"workspace_{side}_path") or "") for side in ("host", "backend"))
    if host and backend:
        pairs.append((host, backend))
    if not pairs:
        raise RequestRefusedError("executor_ref requires at least one host/backend path mapping")
    for _, path in pairs:
        _check_backend(path)
    return [{"host_path": own, "backend_path": path} for own, path in dict.fromkeys(pairs)]


def _pair(entry: object) -> tuple[str, str]:
    if not isinstance(entry, dict):
        raise RequestRefusedError("executor_ref.path_mappings entries must be objects")
    host, backend = (str(entry.get(f"{side}_path") or "") for side in ("host", "backend"))
    if not host or not backend:
        raise RequestRefusedError("executor_ref.path_mappings entries require host_path and backend_path")
    return host, backend


def _check_backend(path: str) -> None:
    if not path.startswith("/"):
        raise RequestRefusedError("executor_ref backend_path must be an absolute backend path")
    if not path.strip("/"):
        raise RequestRefusedError("executor_ref backend_path must not be empty or backend root")
    if ".." in PurePosixPath(path).parts:
        raise RequestRefusedError("executor_ref backend_path must not contain traversal segments")
