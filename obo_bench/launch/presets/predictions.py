"""Predictions of the SWE-bench family: JSON Lines of `instance_id` and `model_patch`, and the ledger beside them.

A prediction is not a grade: whether a patch is right is for the official evaluation to say.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from obo_bench.core.ledger_row import Status
from obo_bench.gateway.foreign_json import excerpt
from obo_bench.launch.presets.collecting import Collected, details_of, instance_id_of, one_line, word
from obo_bench.launch.presets.foreign import json_lines
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.requesting import ids_in, jsonl_ids

_NOT_SOLVED: dict[str, Status] = {
    "failed": "failed",
    "blocked": "blocked",
    "skipped": "skipped",
    "not_attempted": "not_attempted",
}


def input_ids(launch: Launch) -> list[str] | None:
    """Return `instance_id` of each line of the file that --input names; None without it."""
    path = launch.path("--input")
    return None if path is None else ids_in(path, "--input", jsonl_ids)


def prediction_files(launch: Launch) -> dict[str, Path]:
    """Return where the launcher puts its predictions, and its ledger: named by it, or by the predictions' name."""
    predictions, ledger = launch.path("--output"), launch.path("--ledger-output")
    if predictions is None:
        return {"ledger": ledger} if ledger else {}
    if ledger is not None:
        return {"predictions": predictions, "ledger": ledger}
    beside = {
        "ledger": predictions.with_name(f"{predictions.name}.ledger.jsonl"),
        "ledger_without_suffix": predictions.with_name(f"{predictions.stem}.ledger.jsonl"),
    }
    return {"predictions": predictions, **beside}


def prediction_results(launch: Launch) -> Harvest:
    """Return a result for each prediction, and for each instance that only the ledger knows."""
    collected = Collected(Problems())
    files = prediction_files(launch)
    predictions, ledger = files.pop("predictions", None), _ledger(files, launch)
    if predictions is None:
        collected.problems.tell("the command names no --output, so its predictions were not looked for")
    else:
        for instance_id, row in identified(predictions, launch, collected.problems):
            collected.add(prediction_result(instance_id, row, predictions))
    if ledger is not None:
        said = {name: excerpt(row) for name, row in identified(ledger, launch, collected.problems, once=False)}
        for instance_id, row in said.items():
            collected.add(_with_ledger(instance_id, row, ledger, collected.results.get(instance_id)))
    return collected.harvest()


def _ledger(files: dict[str, Path], launch: Launch) -> Path | None:
    """Return the ledger that was asked for, or the one beside the predictions: not every launcher writes one."""
    asked_for = launch.path("--ledger-output")
    return asked_for or next((path for path in files.values() if path.exists()), None)


def identified(
    path: Path, launch: Launch, problems: Problems, *, once: bool = True
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a JSON Lines file with their `instance_id`; those without one are told.

    Where an instance is to come up `once`, repetitions are told, too.
    """
    without, again, seen = 0, 0, set[str]()
    for row in json_lines(path, launch, problems):
        instance_id = instance_id_of(row.get("instance_id"))
        if instance_id is None:
            without += 1
            continue
        again += instance_id in seen
        seen.add(instance_id)
        yield instance_id, row
    if without:
        problems.tell(f"{path}: {without} row(s) have no usable instance_id and were not taken")
    if again and once:
        problems.tell(f"{path}: {again} row(s) repeat an instance; the last one counts")


def prediction_result(instance_id: str, row: dict[str, Any], path: Path) -> Result:
    """Return what one line of predictions says: is there a patch to be graded?"""
    patch = row.get("model_patch", row.get("patch"))
    details = details_of(row, "model_name_or_path", "prefix")
    places = {"predictions": str(path)}
    if patch is None or (isinstance(patch, str) and not patch.strip()):
        return Result(instance_id, "failed", "empty_prediction", output_paths=places, details=details)
    if not isinstance(patch, str):
        error = f"model_patch is {type(patch).__name__}, not text"
        return Result(instance_id, "failed", "result_unreadable", output_paths=places, error=error, details=details)
    details["patch_bytes"] = len(patch.encode("utf-8", "replace"))
    return Result(instance_id, "completed", "prediction_written", True, output_paths=places, details=details)


def _with_ledger(instance_id: str, row: dict[str, Any], path: Path, found: Result | None) -> Result:
    """Add to a prediction what the last row of the ledger says: it knows why there is none, or why it is no good."""
    merged = found or Result(instance_id, "failed", "no_final_result", error="the ledger names it, no prediction does")
    said = row.get("status")
    if isinstance(said, str) and said in _NOT_SOLVED:
        reason = word(row.get("reason_code")) or "task_failed"
        merged = replace(merged, status=_NOT_SOLVED[said], reason_code=reason, error=one_line(row.get("error")))
    return replace(
        merged,
        output_paths={**merged.output_paths, "ledger": str(path)},
        details={**details_of(row, "details", "attempt", "durations"), **merged.details},
        cost=row["cost"] if isinstance(row.get("cost"), dict) else {},
    )
