"""OSWorld: a loop of at most 500 steps for each example; `result.txt` holds the score, `traj.jsonl` the steps.

An example's directory is called by its id. The official loop writes the evaluator's score, a number from 0 to 1, as
the text of `result.txt`; an example with steps and without it has not been judged. `--test_all_meta_path` names the
examples as an object of lists, by domain; `--domain` chooses one of them.
"""

from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from math import isfinite
from pathlib import Path

from obo_bench.launch.presets.collecting import Collected, instance_id_of, one_line
from obo_bench.launch.presets.foreign import open_result, read_at_most
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Preset, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.requesting import document, ids_in, ids_of
from obo_bench.launch.presets.scanning import files_under
from obo_bench.launch.presets.trials import score_verdict

_DEPTH = 7
_NAMES = {"result.txt", "traj.jsonl"}
_LONGEST_SCORE = 1000


def _requested(launch: Launch) -> list[str] | None:
    path = launch.path("--test_all_meta_path")
    domain = launch.option("--domain") or "all"
    return None if path is None else ids_in(path, "--test_all_meta_path", partial(_examples, domain=domain))


def _examples(stream: BufferedReader, _path: Path, *, domain: str) -> Iterator[str]:
    value = document(stream)
    if not isinstance(value, dict) or not all(isinstance(ids, list) for ids in value.values()):
        raise ValueError("it is no object of lists of examples")
    if domain not in ("all", *value):
        raise ValueError(f"it has no domain {domain[:100]!r}")
    for name, ids in value.items():
        if domain in ("all", name):
            yield from ids_of(ids, f"example of {name}", "id")


def _outputs(launch: Launch) -> dict[str, Path]:
    root = launch.path("--result_dir")
    return {} if root is None else {"results": root}


def _results(launch: Launch) -> Harvest:
    problems = Problems()
    collected = Collected(problems)
    root = launch.path("--result_dir")
    if root is None:
        problems.tell("the command names no --result_dir, so its results were not looked for")
        return collected.harvest()
    files = list(files_under(root, _NAMES.__contains__, launch, problems, depth=_DEPTH))
    judged = {path.parent: path for path in files if path.name == "result.txt"}
    for directory in dict.fromkeys(path.parent for path in files):
        instance_id = instance_id_of(directory.name)
        if instance_id is None or instance_id in collected.results:
            problems.tell(f"{directory} is not called by an id, or another example is called the same")
        else:
            collected.add(_result(instance_id, directory, judged.get(directory), launch, problems))
    return collected.harvest()


def _result(instance_id: str, directory: Path, judged: Path | None, launch: Launch, problems: Problems) -> Result:
    places = {"trajectory": str(directory / "traj.jsonl")}
    if judged is None:
        return Result(instance_id, "failed", "no_final_result", official_eval_status="ungraded", output_paths=places)
    places["result"] = str(judged)
    text = _text(judged, launch, problems)
    score = _score(text)
    if score is None:
        error = f"result.txt is no score from 0 to 1: {one_line(text)[:100]!r}"
        return Result(instance_id, "failed", "result_unreadable", False, "ungraded", places, error)
    return Result(instance_id, "completed", "task_ended", True, score_verdict(score), places, details={"score": score})


def _text(path: Path, launch: Launch, problems: Problems) -> str:
    stream = open_result(path, launch, problems)
    if stream is None:
        return ""
    with stream:
        data = read_at_most(stream, _LONGEST_SCORE, path, problems)
    return (data or b"").decode("utf-8", "replace")


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if isfinite(score) and 0.0 <= score <= 1.0 else None


OSWORLD = Preset(
    name="osworld",
    benchmark="osworld",
    dataset="OSWorld",
    summary="OSWorld through its loop of steps",
    requests="the examples of `--test_all_meta_path`, of `--domain` where that is given",
    leaves="`result.txt` and `traj.jsonl` in each example's directory under `--result_dir`",
    example="python run_osworld.py --test_all_meta_path test_all.json --max_steps 500 --result_dir results",
    requested=_requested,
    outputs=_outputs,
    results=_results,
)
