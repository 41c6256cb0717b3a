"""The official SWE-bench evaluation: what it is asked for, and its report.

The report's lists are those that `swebench.harness.reporting` writes: `resolved_ids`, `unresolved_ids`, `error_ids`,
`empty_patch_ids`. An instance that could not be judged is ungraded, whatever the reason.
"""

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from obo_bench.core.ledger_row import Status
from obo_bench.launch.presets.collecting import Collected, instance_id_of
from obo_bench.launch.presets.foreign import json_document
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.requesting import document, ids_in, ids_of, jsonl_ids
from obo_bench.launch.presets.scanning import files_under

_PREDICTIONS = ("--predictions_path", "-p")
_RUN_ID = ("--run_id", "-id")
_LISTS: dict[str, tuple[Status, str, str, bool]] = {
    "resolved_ids": ("completed", "task_ended", "pass", True),
    "unresolved_ids": ("completed", "task_ended", "fail", True),
    "empty_patch_ids": ("failed", "empty_prediction", "ungraded", False),
    "error_ids": ("failed", "verdict_missing", "ungraded", True),
}
"""For each list of the report: status, reason, verdict, and whether there was a patch."""


def is_evaluation(launch: Launch) -> bool:
    """Say whether the command is the official evaluation rather than a launcher that writes predictions."""
    return any("swebench.harness.run_evaluation" in word for word in launch.command)


def requested(launch: Launch) -> list[str] | None:
    """Return the instances of the predictions; None for the gold patches, which are those of the dataset."""
    path = launch.path(*_PREDICTIONS)
    if path is None or path.name == "gold":
        return None
    return ids_in(path, "--predictions_path", jsonl_ids if path.suffix == ".jsonl" else _json_ids)


def outputs(launch: Launch) -> dict[str, Path]:
    """Return the directory of the report: its name begins with the model's, which only the predictions tell."""
    return {"report_directory": launch.path("--report_dir") or launch.cwd}


def results(launch: Launch) -> Harvest:
    """Return the official verdicts of the report of this run."""
    problems = Problems()
    collected = Collected(problems)
    run_id, directory = launch.option(*_RUN_ID), outputs(launch)["report_directory"]
    for path in _reports(directory, f".{run_id}.json", launch, problems):
        report = json_document(path, launch, problems)
        if isinstance(report, dict):
            _take(report, path, collected)
        elif report is not None:
            problems.tell(f"{path} is no report of the evaluation: it is no JSON object")
    return collected.harvest()


def _reports(directory: Path, ending: str, launch: Launch, problems: Problems) -> list[Path]:
    found = list(files_under(directory, lambda name: name.endswith(ending), launch, problems, depth=1))
    if len(found) != 1:
        problems.tell(f"there are {len(found)} reports *{ending} of this start in {directory}; one was expected")
    return found


def _take(report: dict[str, Any], path: Path, collected: Collected) -> None:
    for name, (status, reason, verdict, patch) in _LISTS.items():
        ids = report.get(name)
        if not isinstance(ids, list):
            collected.problems.tell(f"{path} has no list {name}")
            continue
        for value in ids:
            instance_id = instance_id_of(value)
            if instance_id is None:
                collected.problems.tell(f"{path}: {name} holds what is no instance id")
            else:
                collected.add(Result(instance_id, status, reason, patch, verdict, {"report": str(path)}))


def _json_ids(stream: BufferedReader, _path: Path) -> Iterator[str]:
    value = document(stream)
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        raise ValueError("it is neither a list of predictions nor an object of them")
    yield from ids_of(value, "prediction", "instance_id")
