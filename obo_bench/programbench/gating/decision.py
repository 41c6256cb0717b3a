"""The verdict: what cannot be told is INCONCLUSIVE and goes before any comparison; then the exact means decide."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from obo_bench.programbench.gating.gate_result import (
    Comparison,
    GatedTask,
    GateLoad,
    GateReason,
    GateReasonCode,
    GateVerdict,
)

_NAMED = 5
_AGAIN = "repeat the gate"
_MORE_PAIRS = "name a reference with a score of every listed task, list more tasks, or demand fewer with --min-pairs"
_ANOTHER_BASELINE = "name a baseline with scores of the listed tasks, or none"


def decide(
    tasks: Sequence[GatedTask],
    min_pairs: int,
    reference: Comparison,
    baseline: Comparison | None,
    load: GateLoad,
    run_root: Path,
) -> tuple[GateVerdict, list[GateReason]]:
    """Return the verdict and everything that speaks against a GO of the run in `run_root`."""
    open_questions = [*_untold(tasks, min_pairs, reference, baseline, run_root), *_overload(load, run_root)]
    shortfalls = [*_below("reference", reference), *(_below("baseline", baseline) if baseline else [])]
    if open_questions:
        return "INCONCLUSIVE", [*open_questions, *shortfalls]
    return ("NO-GO", shortfalls) if shortfalls else ("GO", [])


def _untold(
    tasks: Sequence[GatedTask], min_pairs: int, reference: Comparison, baseline: Comparison | None, run_root: Path
) -> list[GateReason]:
    reasons = []
    without = [task for task in tasks if task.run is None]
    if without:
        named = ", ".join(f"{task.instance_id} ({task.reason})" for task in without[:_NAMED])
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        message = f"the run has no score for {len(without)} task(s): {named}{more}"
        reasons.append(_reason("tasks_without_score", message, _to_get_scores(without, run_root)))
    if reference.pairs < min_pairs:
        message = f"{reference.pairs} pair(s) with the reference, demanded {min_pairs}"
        reasons.append(_reason("too_few_pairs", message, _MORE_PAIRS))
    if baseline is not None and not baseline.pairs:
        message = "no task has a score both in the run and in the baseline"
        reasons.append(_reason("baseline_shares_no_task", message, _ANOTHER_BASELINE))
    return reasons


def _to_get_scores(without: Sequence[GatedTask], run_root: Path) -> str:
    """Return what gives scores to tasks: each in the way that it needs."""
    reasons = {task.reason.partition(":")[0] for task in without}
    steps = []
    if "not_requested" in reasons:
        steps.append("solve the listed tasks in a run of their own (`run --ids-file`)")
    if {"no_submission", "submission_missing"} & reasons:
        steps.append("resume the run (its command with the same --run-id)")
    if reasons - {"not_requested"}:
        steps.append(f"grade it with `{_grading(run_root)}`")
    return f"{', '.join(steps)}, then {_AGAIN}"


def _overload(load: GateLoad, run_root: Path) -> list[GateReason]:
    told = {invocation: record.overload() for invocation, record in load.evaluations.items()}
    remedy = f"when the host is idle, grade again with `{_grading(run_root, '--force')}`, then {_AGAIN}"
    return [
        _reason("host_overloaded", f"in the evaluation {invocation} the host had {why}", remedy)
        for invocation, why in told.items()
        if why
    ]


def _grading(run_root: Path, *more: str) -> str:
    return shlex.join(["obo-bench", "eval", str(run_root), *more])


def _below(name: str, comparison: Comparison) -> list[GateReason]:
    if comparison.at_least is not False:
        return []
    code: GateReasonCode = "below_reference" if name == "reference" else "below_baseline"
    means = f"{comparison.run_mean:.4f} against {comparison.other_mean:.4f}"
    figures = f"{means} ({comparison.mean_difference:+.3g}) on {comparison.pairs} task(s)"
    return [_reason(code, f"the run's mean is below that of the {name}: {figures}")]


def _reason(code: GateReasonCode, message: str, remedy: str = "") -> GateReason:
    return GateReason(code=code, message=message, remedy=remedy)
