"""A good invocation of any recorded command, built from the command's own parameters."""

import hashlib
import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from obo_bench.cli.app import app

IID = "practice__wordtally.0000001"


def good_values(checkout: Path, runs: Path, url: str) -> dict[str, str | None]:
    """By option (or argument): its value in a good invocation, None for a flag; given wherever a command knows it.

    What a command reads lies where `sources.supply` puts it.
    """
    inputs = runs.parent / "inputs"
    return {
        "--repo-dir": str(checkout),
        "--ouroboros-url": url,
        "--runs-root": str(runs),
        "--run-id": "r",
        "--instance-id": IID,
        "--memory": "512m",
        "--cpus": "1",
        "--workspace": str(inputs / "workspace"),
        "--instruction-file": str(inputs / "instruction.md"),
        "--container-name": f"obo-bench-parity-{hashlib.sha256(os.fsencode(runs)).hexdigest()[:16]}",
        "--source-run-id": "s",
        "--dest-run-id": "r",
        "RUN": "r",
        "CAMPAIGN": "r",
        "FILE": str(inputs / "campaign.toml"),
        "--run": "r",
        "--reference": str(inputs / "reference.csv"),
        "--tasks": str(inputs / "tasks.txt"),
        "--min-pairs": "1",
        "--ids-file": str(inputs / "ids.txt"),
        "--predictions": str(inputs / "predictions.jsonl"),
        "--output-dir": str(inputs / "results"),
        "--raw-sample": str(inputs / "raw_sample.jsonl"),
        "--summary": str(inputs / "grade_summary.json"),
        "--benchmark": "demo",
        "COMMAND": "true",
        "--json": None,
        "--quiet": None,
    }


def built(command: str) -> Any:
    """Return the command as typer built it (its classes are private)."""
    found: Any = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return found


def parameters(command: str) -> list[Any]:
    return list(built(command).params)


def function_of(command: str) -> object:
    """Return the function that the command calls."""
    return inspect.unwrap(built(command).callback)


def options(command: str) -> set[str]:
    return {name for parameter in parameters(command) for name in _names(parameter)}


def command_line(command: str, values: Mapping[str, str | None]) -> list[str]:
    """Return the arguments; a required parameter without a value is an error that says what to add."""
    line, last = command.split(), []
    for parameter in parameters(command):
        name = next((name for name in _names(parameter) if name in values), None)
        if name is None:
            assert not parameter.required, (
                f"`{command}` requires {_names(parameter)[0]}: add it to good_values() in {__file__}, with a value "
                "with which the command succeeds, so that its ways out can be tested"
            )
        elif parameter.param_type_name == "argument":
            last.append(values[name] or "")
        else:
            line += [name] if values[name] is None else [name, values[name] or ""]
    return line + last


def _names(parameter: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [(parameter.name or "").upper()]
    return [flag for flag in parameter.opts if flag.startswith("--")]
