"""What comes after a campaign that did not come to a good end: its table has been shown already."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import ExitCode

CEILING = "--max-cost-usd"


def after_bad_end(manifest: Mapping[str, Any], status: int) -> list[str]:
    """Return the command, without the program's name, and the options that an operator's own are not needed for.

    After a pause a resume, with the ceiling that is needed; else a look at the step that failed; empty where the ending
    itself has said what to do.
    """
    root, harness = str(manifest["run_root"]), manifest["harness"]
    if status == ExitCode.BUDGET:
        needed = harness.get("needed_usd")
        return [] if needed is None else ["campaign", "resume", root, CEILING, f"{needed:.10g}"]
    failed = harness.get("failed_step")
    return _look(failed) if isinstance(failed, Mapping) else []


def _look(failed: Mapping[str, Any]) -> list[str]:
    root = Path(str(failed.get("run_root")))
    match failed.get("kind"):
        case "run" | "exec" | "eval" | "export":
            return ["programbench", "status", str(root)]
        case "gate":
            return ["programbench", "report", str(root.parent)]
    return []
