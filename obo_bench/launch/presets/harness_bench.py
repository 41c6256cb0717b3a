"""harness-bench-fast: the launcher hands tasks to the harness, which writes JSON results under `--run-root`.

The harness's results are an object with `tasks`, a list of `task_id`, `passed`, `message`, `error`, `attempt`, or one
such task alone; that is the official verdict. Other JSON under the run root is none of them and is passed over.
"""

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from obo_bench.gateway.foreign_json import excerpt
from obo_bench.launch.presets.collecting import Collected, details_of, instance_id_of, one_line, word
from obo_bench.launch.presets.foreign import json_document
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Preset, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.requesting import document, ids_in, ids_of, text_ids
from obo_bench.launch.presets.scanning import files_under
from obo_bench.launch.presets.trials import verdict_of

_DEPTH = 4
_KEPT = ("message", "elapsed_seconds", "failure_kind", "attempts", "agent_total_tokens")


def _requested(launch: Launch) -> list[str] | None:
    named = launch.options("--task")
    path = launch.path("--task-file")
    from_file = [] if path is None else ids_in(path, "--task-file", _task_file_ids)
    return list(dict.fromkeys([*named, *from_file])) or None


def _task_file_ids(stream: BufferedReader, path: Path) -> Iterator[str]:
    """Read text lines, or a JSON list of ids or tasks, alone or as `tasks` or `task_ids` of an object."""
    if path.suffix != ".json":
        yield from text_ids(stream, path)
        return
    value = document(stream)
    if isinstance(value, dict):
        value = value.get("tasks", value.get("task_ids"))
    if not isinstance(value, list):
        raise ValueError("it is no list of tasks, and no object with a list `tasks` or `task_ids`")
    yield from ids_of(value, "task", "task_id", "id")


def _outputs(launch: Launch) -> dict[str, Path]:
    root = launch.path("--run-root")
    return {} if root is None else {"run_root": root}


def _results(launch: Launch) -> Harvest:
    problems = Problems()
    collected = Collected(problems)
    root = launch.path("--run-root")
    if root is None:
        problems.tell("the command names no --run-root, so its results were not looked for")
        return collected.harvest()
    other = 0
    for path in files_under(root, lambda name: name.endswith(".json"), launch, problems, depth=_DEPTH):
        found = _tasks(json_document(path, launch, problems))
        other += not found
        _take(found, path, collected)
    if other and not collected.results:
        problems.tell(f"{root}: {other} JSON file(s) are of another shape than the harness's results")
    return collected.harvest()


def _tasks(value: Any) -> list[dict[str, Any]]:
    """Return the tasks of a results file: objects with a task id and a verdict."""
    if not isinstance(value, dict):
        return []
    listed = value.get("tasks") if isinstance(value.get("tasks"), list) else [value]
    return [task for task in listed or [] if isinstance(task, dict) and "passed" in task and "task_id" in task]


def _take(tasks: list[dict[str, Any]], path: Path, collected: Collected) -> None:
    tries: dict[str, list[dict[str, Any]]] = {}
    for task in tasks:
        instance_id = instance_id_of(task["task_id"])
        if instance_id is None:
            collected.problems.tell(f"{path} holds a result without a usable task_id")
        else:
            tries.setdefault(instance_id, []).append(task)
    for instance_id, found in tries.items():
        collected.add(_result(instance_id, found, path))


def _result(instance_id: str, tries: list[dict[str, Any]], path: Path) -> Result:
    last = tries[-1]
    unreadable = not all(isinstance(one["passed"], bool) for one in tries)
    error = "" if unreadable else one_line(last.get("error"))
    details = details_of(last, *_KEPT)
    if len(tries) > 1:
        details["passed"] = excerpt([one["passed"] for one in tries])
    verdicts = [("pass" if one["passed"] is True else "fail") for one in tries]
    return Result(
        instance_id,
        "failed" if error or unreadable else "completed",
        "result_unreadable"
        if unreadable
        else "task_ended"
        if not error
        else word(last.get("failure_kind")) or "task_failed",
        prediction_written=not unreadable,
        official_eval_status="ungraded" if unreadable else verdict_of(verdicts),
        output_paths={"results": str(path)},
        error=error,
        details=details,
        attempt=len(tries),
    )


HARNESS_BENCH_FAST = Preset(
    name="harness-bench-fast",
    benchmark="harness-bench-fast",
    dataset="ai-forever/harness-bench-fast",
    summary="harness-bench-fast through its own harness",
    requests="each `--task`, and the lines (or the JSON sample) of `--task-file`",
    leaves="the harness's JSON results under `--run-root`",
    example="python harness_bench_fast.py --bench-root bench --task create_file --run-root out",
    requested=_requested,
    outputs=_outputs,
    results=_results,
    task_timeout_sec=900,
)
