"""What an operator can do when a run ends while tasks of it still run: which they are, and the exact commands."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.cli import variables
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
    again = [*_without_redo(), "obo-bench", *resuming(arguments, Path(root).name)]
    return "\n".join(
        [
            f"{len(tasks)} task(s) may still run at {url} and spend money:",
            *named,
            f"  to go on with them:  {shlex.join(again)}",
            f"  to cancel them:      {shlex.join(['obo-bench', 'programbench', 'cancel', root])}",
            f"  to remove leftovers: {shlex.join(['obo-bench', 'programbench', 'gc', root])}",
        ]
    )


def _without_redo() -> list[str]:
    """Return what takes the variable away that would cancel what still runs and solve it again."""
    flag = "--redo-existing"
    return ["env", "-u", variables.names(flag)[0]] if variables.is_on(flag) else []
