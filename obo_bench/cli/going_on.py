"""What an operator can do when a run ends while tasks of it still run: which they are, and the exact commands."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.cli import variables
from obo_bench.cli.next_step import admission
from obo_bench.cli.placed import placed
from obo_bench.programbench.leftovers.resuming import resuming

_SHOWN = 20


def how_to_go_on(manifest: Mapping[str, Any] | None, arguments: Sequence[str]) -> str:
    """Return the text for a finished run, empty when nothing of it runs; `arguments` are the operator's own."""
    tasks = ((manifest or {}).get("extra") or {}).get("still_running") or []
    if manifest is None or not tasks:
        return ""
    root = str(manifest["run_root"])
    url = (manifest.get("harness") or {}).get("ouroboros_url")
    named = [
        f"    {task['task_id']}  ({task['instance_id']}, container {task['container']})" for task in tasks[:_SHOWN]
    ]
    if len(tasks) > _SHOWN:
        named.append(f"    and {len(tasks) - _SHOWN} more; the manifest names them all")
    # A campaign names the run of each task, and goes on with its steps itself.
    roots = list(dict.fromkeys(task.get("run_root", root) for task in tasks))
    again = [*_without_redo(), "obo-bench", *_again(manifest, arguments)]
    return "\n".join(
        [
            f"{len(tasks)} task(s) may still run at {url} and spend money:",
            *named,
            f"  to go on with them:  {shlex.join(placed(again))}",
            *(f"  to cancel them:      {shlex.join(['obo-bench', 'programbench', 'cancel', run])}" for run in roots),
            *(f"  to remove leftovers: {shlex.join(['obo-bench', 'programbench', 'gc', run])}" for run in roots),
        ]
    )


def _again(manifest: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
    root = Path(manifest["run_root"])
    if str(manifest.get("command")).startswith("campaign "):
        return ["campaign", "resume", str(root), *admission(arguments)]
    return resuming(arguments, root.name)


def _without_redo() -> list[str]:
    """Return what takes the variable away that would cancel what still runs and solve it again."""
    flag = "--redo-existing"
    return ["env", "-u", variables.names(flag)[0]] if variables.is_on(flag) else []
