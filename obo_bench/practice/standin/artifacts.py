"""The files that the server keeps of a task, under `<data>/task_results/artifacts/<task_id>/`."""

from pathlib import Path
from typing import Any

from obo_bench.core.files import json_bytes, sha256_file, write_bytes
from obo_bench.practice.standin.clock import now_text
from obo_bench.practice.standin.gitrepo import run_git


def artifact_dir(data_dir: Path, task_id: str) -> Path:
    """Return the directory of a task's artifacts."""
    return data_dir / "task_results" / "artifacts" / task_id


def keep_preflight(data_dir: Path, task_id: str, preflight: dict[str, Any]) -> dict[str, Any]:
    """Write what was found in the workspace at submission; return the artifact's entry."""
    return _keep_json(data_dir, task_id, "workspace_preflight", "workspace_preflight.json", preflight)


def keep_outcome(data_dir: Path, record: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Write patch, manifest and memory export of a finished task; return artifact status and entries."""
    task_id = record["task_id"]
    if not record["workspace_root"]:
        return "ready", [_export(data_dir, record)]
    base = record["metadata"]["workspace_preflight"]["git"]["head"]
    patch = _write_patch(artifact_dir(data_dir, task_id) / "workspace.patch", Path(record["workspace_root"]), base)
    entry = _entry(patch, "workspace_patch", record["workspace_root"])
    status = "ready_with_changes" if entry["size"] else "ready_no_changes"
    manifest = {
        "schema_version": 1, "created_at": now_text(), "status": status, "workspace_root": record["workspace_root"],
        "patch_name": patch.name, "manifest_name": "workspace_patch.json", "base_head": base,
        "patch_size": entry["size"], "sha256": entry["sha256"], "errors": [],
    }  # fmt: skip
    kept = _keep_json(data_dir, task_id, "workspace_patch_manifest", "workspace_patch.json", manifest)
    return status, [entry, kept, _export(data_dir, record)]


def _export(data_dir: Path, record: dict[str, Any]) -> dict[str, Any]:
    content = {"schema_version": 1, "memory_mode": record["memory_mode"], "entries": []}
    kept = _keep_json(data_dir, record["task_id"], "memory_export", "memory_export.json", content)
    return {name: value for name, value in kept.items() if name != "workspace_root"} | {
        "memory_mode": record["memory_mode"]
    }


def _write_patch(target: Path, workspace: Path, base: str) -> Path:
    """Write the changes since `base`, untracked files included, except those that git ignores."""
    with target.open("wb") as stream:
        if base:
            run_git(workspace, "diff", "--binary", "--no-ext-diff", "--no-color", base, "--", stdout=stream)
        _, listed = run_git(workspace, "ls-files", "--others", "--exclude-standard", "-z")
        for name in filter(None, listed.split("\0")):
            run_git(workspace, "diff", "--no-index", "--binary", "--no-ext-diff", "--no-color", "--",
                    "/dev/null", name, stdout=stream)  # fmt: skip
    return target


def _keep_json(data_dir: Path, task_id: str, kind: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    directory = artifact_dir(data_dir, task_id)
    directory.mkdir(parents=True, exist_ok=True)
    write_bytes(directory / name, json_bytes(content))
    return _entry(directory / name, kind, str(content.get("workspace_root", "")))


def _entry(path: Path, kind: str, workspace_root: str) -> dict[str, Any]:
    return {
        "kind": kind, "name": path.name, "path": str(path), "size": path.stat().st_size, "sha256": sha256_file(path),
        "workspace_root": workspace_root, "status": "ready", "errors": [],
    }  # fmt: skip
