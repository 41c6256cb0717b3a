"""What an operator can do when a run ends while tasks of it still run: which they are, and the exact commands."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SHOWN = 20
_NOT_AGAIN = frozenset({"--redo-existing"})
"""Flags that a resume must not repeat: this one would cancel what still runs and solve it again."""


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
    return "\n".join(
        [
            f"{len(tasks)} task(s) may still run at {url} and spend money:",
            *named,
            f"  to go on with them:  {shlex.join(['obo-bench', *resuming(arguments, Path(root).name)])}",
            f"  to cancel them:      {shlex.join(['obo-bench', 'programbench', 'cancel', root])}",
            f"  to remove leftovers: {shlex.join(['obo-bench', 'programbench', 'gc', root])}",
        ]
    )


def resuming(arguments: Sequence[str], run_id: str) -> list[str]:
    """Return the command line that goes on with a run: the operator's own, with the run's id."""
    kept = [argument for argument in arguments if argument not in _NOT_AGAIN]
    named = any(argument == "--run-id" or argument.startswith("--run-id=") for argument in kept)
    return kept if named else [*kept, "--run-id", run_id]
