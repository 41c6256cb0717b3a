"""Records of other launchers, made by `exec` or `benchmark_run`: what holds for them and not for a run of ours.

What the launcher did not tell is not known. It alone decides what it does when it is started again.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EXEC = "exec"
BENCHMARK_RUN = "benchmark_run"
COMMANDS = frozenset({EXEC, BENCHMARK_RUN})
"""What the manifests of such records call their command."""
UNKNOWN = "unknown"
"""State of a requested instance that nothing was heard of although its launcher was started."""
BEGUN = frozenset({"completed", "failed", UNKNOWN})
"""States of an instance that may have cost something."""
_MOST_PROBLEMS = 3


def is_launched(command: object) -> bool:
    """Say whether a command records what another launcher does."""
    return command in COMMANDS


def again(command: str, run_root: Path) -> str:
    """Return how such a record is gone on with, in words."""
    if command == EXEC:
        return f"repeat the command with the same --run-id {run_root.name}"
    return f"start the launcher again with the same run_root {shlex.quote(str(run_root))}"


def is_untold(manifest: Mapping[str, Any]) -> bool:
    """Say whether an instance without a row is one that nothing is known of.

    So it is once `exec` has started a launcher; `benchmark_run` records what it does itself.
    """
    extra = _part(manifest, "extra")
    refused = extra.get("refusal") is not None and extra.get("child_exit_code") is None
    return manifest.get("command") == EXEC and not refused


def silence(manifest: Mapping[str, Any]) -> str:
    """Return what is known of a launcher of `exec` that ended well and left no row."""
    extra, requested = _part(manifest, "extra"), manifest.get("requested_count")
    whom = "any instance" if requested is None else f"the {requested} requested instance(s)"
    told = f"The launcher ended with {extra.get('child_exit_code')}; it told nothing of {whom}"
    names = ("completed", "failed", "skipped", "not_attempted")
    claimed = [f"{count} {name}" for name in names if (count := extra.get(f"{name}_count")) is not None]
    return f"{told} but a claim of {', '.join(claimed)}." if claimed else f"{told}."


def why(manifest: Mapping[str, Any]) -> str:
    """Return why a launcher of `exec` did not end well, where neither refusal nor error says it; else empty."""
    extra = _part(manifest, "extra")
    report = _part(extra, "child_report")
    problems = report.get("problems")
    found = [report.get("stopped_for"), *(problems[:_MOST_PROBLEMS] if isinstance(problems, list) else ())]
    return "" if extra.get("outcome") == "completed" else "; ".join(str(one) for one in found if one)


def log_of(manifest: Mapping[str, Any], run_root: Path) -> Path | None:
    """Return the log of what the launcher of `exec` printed; None where there is none."""
    named = _part(_part(manifest, "harness"), "launcher").get("log")
    return run_root / named if isinstance(named, str) and named and (run_root / named).is_file() else None


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}
