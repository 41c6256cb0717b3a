"""GAIA: the Inspect task `inspect_evals/gaia` with a solver; its log is read.

The score of `gaia_scorer` is the official verdict; a score of any other scorer is kept and is none. Samples of the test
split have no score at all. A `final_answer` file of a solver's own is not read: the log holds the answer.
"""

from pathlib import Path
from typing import Any

from obo_bench.gateway.foreign_json import excerpt
from obo_bench.launch.presets.collecting import Collected, instance_id_of, one_line, word
from obo_bench.launch.presets.inspect_log import InspectLog, read_inspect_log
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Preset, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.scanning import files_under
from obo_bench.launch.presets.trials import verdict_of

_OFFICIAL_SCORER = "gaia_scorer"
_VERDICTS = {"C": "pass", "I": "fail"}


def _requested(launch: Launch) -> list[str] | None:
    named = ",".join(launch.options("--sample-id"))
    return list(dict.fromkeys(name for part in named.split(",") if (name := part.strip()))) or None


def _outputs(launch: Launch) -> dict[str, Path]:
    return {"logs": launch.path("--log-dir") or launch.cwd / "logs"}


def _results(launch: Launch) -> Harvest:
    problems = Problems()
    collected = Collected(problems)
    root = _outputs(launch)["logs"]
    logs = list(files_under(root, lambda name: name.endswith((".eval", ".json")), launch, problems, depth=1))
    if not logs:
        problems.tell(f"{root} holds no log of this start")
    for path in logs:
        log = read_inspect_log(path, launch, problems)
        if log is not None and "eval" in log.header:
            _take(log, path, collected)
        elif log is not None:
            problems.tell(f"{path} is no log of Inspect: it has no header with `eval`")
    return collected.harvest()


def _take(log: InspectLog, path: Path, collected: Collected) -> None:
    epochs: dict[str, list[dict[str, Any]]] = {}
    for sample in log.samples:
        instance_id = instance_id_of(sample.get("id"))
        if instance_id is None:
            collected.problems.tell(f"{path} holds a sample without a usable id")
        else:
            epochs.setdefault(instance_id, []).append(sample)
    for instance_id, samples in epochs.items():
        collected.add(_result(instance_id, samples, path))
    status = word(log.header.get("status"))
    if status != "success":
        collected.problems.tell(f"{path}: the evaluation did not end well: {status or 'no status'}")


def _result(instance_id: str, samples: list[dict[str, Any]], path: Path) -> Result:
    last = samples[-1]
    error = _error(last)
    return Result(
        instance_id,
        "failed" if error else "completed",
        "task_failed" if error else "task_ended",
        prediction_written=not error,
        official_eval_status=verdict_of([_verdict(sample) for sample in samples]),
        output_paths={"log": str(path)},
        error=error,
        details={"scores": excerpt(_scores(last)), "epochs": len(samples)},
        attempt=len(samples),
    )


def _error(sample: dict[str, Any]) -> str:
    """Return the error of a sample: a text in a summary, an object in a JSON log."""
    error = sample.get("error")
    return one_line(error.get("message", error) if isinstance(error, dict) else error)


def _scores(sample: dict[str, Any]) -> dict[str, Any]:
    scores = sample.get("scores")
    named = scores.items() if isinstance(scores, dict) else ()
    return {name: score.get("value") for name, score in named if isinstance(score, dict)}


def _verdict(sample: dict[str, Any]) -> str:
    scores = _scores(sample)
    if _OFFICIAL_SCORER not in scores:
        return "ungraded" if _error(sample) else "not_run"
    value = scores[_OFFICIAL_SCORER]
    return _VERDICTS.get(value, "ungraded") if isinstance(value, str) else "ungraded"


GAIA = Preset(
    name="gaia",
    benchmark="gaia",
    dataset="gaia-benchmark/GAIA",
    summary="GAIA through Inspect",
    requests="the ids of `--sample-id`",
    leaves="Inspect's `.eval` or JSON logs in `--log-dir`",
    example="inspect eval inspect_evals/gaia --solver agent.py --sample-id a,b --log-dir logs",
    requested=_requested,
    outputs=_outputs,
    results=_results,
)
