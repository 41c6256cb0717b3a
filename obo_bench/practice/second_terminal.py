"""What to type in a second terminal: `programbench run` itself, on the practice programs, against a stand-in server."""

import shlex
from pathlib import Path

from obo_bench.core.files import write_json
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.tasks import PRACTICE_TASKS

TIMEOUT_SEC = 1800
"""Deadline of a practice task: its solver needs seconds."""


def run_arguments(directory: Path, checkout: Path, url: str) -> list[str]:
    """Return what `programbench run` needs for the practice programs; their settings are none of the operator's own.

    Raises OSError when the settings cannot be written.
    """
    settings = directory / "data" / "settings.json"
    if not settings.exists():
        settings.parent.mkdir(parents=True, exist_ok=True)
        write_json(settings, {})
    options = {
        "--repo-dir": str(checkout),
        "--ouroboros-url": url,
        "--settings-path": str(settings),
        "--runs-root": str(directory / "bench_runs"),
        "--timeout-sec": str(TIMEOUT_SEC),
        "--memory": "1g",
        "--cpus": "1",
    }
    return [word for option in options.items() for word in option]


def second_terminal(directory: Path, checkout: Path, url: str) -> list[str]:
    """Return the lines to be typed: the environment in which the official package knows the programs, and the run.

    Raises OSError, and PreflightRefused where the official package is not installed.
    """
    overlay = write_overlay(directory / "tasks", PRACTICE_TASKS)
    names = " ".join(f"{name}={shlex.quote(value)}" for name, value in overlay.items())
    run = shlex.join(["obo-bench", "programbench", "run", *run_arguments(directory, checkout, url), "--eval"])
    return [f"export {names}", run]
