"""Terminal-Bench: a Harbor job with an installed agent, which leaves `result.json` in each trial's directory.

Relied upon are the fields of Harbor's own trial result: `task_name`, `trial_name`, `verifier_result.rewards`,
`exception_info`, `agent_result.cost_usd`, and `reward_valid` where it is there. The job's own `result.json` has none of
them. The reward is the official verdict.
"""

import re
from pathlib import Path
from typing import Any

from obo_bench.gateway.foreign_json import excerpt
from obo_bench.launch.presets.collecting import Collected, instance_id_of, number, one_line, word
from obo_bench.launch.presets.foreign import json_document
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest, Preset, Result
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.scanning import files_under
from obo_bench.launch.presets.trials import score_verdict, verdict_of

_PATTERN = re.compile(r"[*?\[]")
_INCLUDE = ("-i", "--include-task-name")


def _requested(launch: Launch) -> list[str] | None:
    """Return the names that are included; None where they are patterns, or the whole dataset."""
    names = launch.options(*_INCLUDE)
    return list(dict.fromkeys(names)) if names and not any(map(_PATTERN.search, names)) else None


def _outputs(launch: Launch) -> dict[str, Path]:
    jobs = launch.path("-o", "--jobs-dir") or launch.cwd / "jobs"
    name = launch.option("--job-name")
    return {"job": jobs / name} if name else {"jobs": jobs}


def _results(launch: Launch) -> Harvest:
    problems = Problems()
    collected = Collected(problems)
    ((kind, root),) = _outputs(launch).items()
    depth = 2 if kind == "job" else 3
    trials: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for path in files_under(root, "result.json".__eq__, launch, problems, depth=depth):
        _sort(path, json_document(path, launch, problems), trials, problems)
    for task, found in trials.items():
        collected.add(_result(task, found))
    return collected.harvest()


def _sort(path: Path, value: Any, trials: dict[str, list[tuple[Path, dict[str, Any]]]], problems: Problems) -> None:
    """Put a trial with the others of its task; the job's own result is none."""
    if not isinstance(value, dict) or ("trial_name" not in value and "n_total_trials" not in value):
        problems.tell(f"{path} is no result of a trial")
    elif "trial_name" in value:
        task = instance_id_of(value.get("task_name"))
        if task is None:
            problems.tell(f"{path} has no usable task_name")
        else:
            trials.setdefault(task, []).append((path, value))


def _result(task: str, trials: list[tuple[Path, dict[str, Any]]]) -> Result:
    path = trials[-1][0]
    failures = [failure for _, trial in trials if (failure := _exception(trial))]
    rewards = [_reward(trial) for _, trial in trials]
    spent = [cost for _, trial in trials if (cost := _cost(trial)) is not None]
    reason, error = failures[-1] if failures else ("", "")
    if not failures and None in rewards:
        reason = "verdict_missing"
    return Result(
        task,
        "failed" if reason else "completed",
        reason or "task_ended",
        prediction_written=any(reward is not None for reward in rewards),
        official_eval_status=verdict_of([score_verdict(reward) for reward in rewards]),
        output_paths={"result": str(path)},
        error=error,
        details={"trials": excerpt([trial.get("trial_name") for _, trial in trials]), "rewards": excerpt(rewards)},
        attempt=len(trials),
        cost={"usd": sum(spent)} if spent else {},
    )


def _exception(trial: dict[str, Any]) -> tuple[str, str] | None:
    found = trial.get("exception_info")
    if not isinstance(found, dict):
        return None
    return word(found.get("exception_type")) or "task_failed", one_line(found.get("exception_message"))


def _reward(trial: dict[str, Any]) -> float | None:
    """Return the reward of a trial, None unless Harbor itself takes it as valid."""
    verifier = trial.get("verifier_result")
    rewards = verifier.get("rewards") if isinstance(verifier, dict) else None
    if not isinstance(rewards, dict) or trial.get("reward_valid") is False:
        return None
    return number(next(iter(rewards.values())) if len(rewards) == 1 else rewards.get("reward"))


def _cost(trial: dict[str, Any]) -> float | None:
    agent = trial.get("agent_result")
    return number(agent.get("cost_usd")) if isinstance(agent, dict) else None


TERMINAL_BENCH = Preset(
    name="terminal-bench",
    benchmark="terminal-bench",
    dataset="terminal-bench@2.0",
    summary="Terminal-Bench through a Harbor job",
    requests="each `--include-task-name`, where none is a pattern",
    leaves="`result.json` of each trial in the job's directory (`--jobs-dir`, `--job-name`)",
    example="harbor run -d terminal-bench@2.0 -i hello-world --agent agent:Ouroboros --job-name first",
    requested=_requested,
    outputs=_outputs,
    results=_results,
)
