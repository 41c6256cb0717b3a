"""The verdict: what cannot be told is INCONCLUSIVE and goes before any comparison; then the exact means decide."""

from collections.abc import Sequence

from obo_bench.programbench.gating.gate_result import (
    Comparison,
    GatedTask,
    GateLoad,
    GateReason,
    GateReasonCode,
    GateVerdict,
)

_NAMED = 5


def decide(
    tasks: Sequence[GatedTask], min_pairs: int, reference: Comparison, baseline: Comparison | None, load: GateLoad
) -> tuple[GateVerdict, list[GateReason]]:
    """Return the verdict and everything that speaks against a GO."""
    open_questions = [*_untold(tasks, min_pairs, reference, baseline), *_overload(load)]
    shortfalls = [*_below("reference", reference), *(_below("baseline", baseline) if baseline else [])]
    if open_questions:
        return "INCONCLUSIVE", [*open_questions, *shortfalls]
    return ("NO-GO", shortfalls) if shortfalls else ("GO", [])


def _untold(
    tasks: Sequence[GatedTask], min_pairs: int, reference: Comparison, baseline: Comparison | None
) -> list[GateReason]:
    reasons = []
    without = [task for task in tasks if task.run is None]
    if without:
        named = ", ".join(f"{task.instance_id} ({task.reason})" for task in without[:_NAMED])
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        reasons.append(
            _reason("tasks_without_score", f"the run has no score for {len(without)} task(s): {named}{more}")
        )
    if reference.pairs < min_pairs:
        reasons.append(_reason("too_few_pairs", f"{reference.pairs} pair(s) with the reference, demanded {min_pairs}"))
    if baseline is not None and not baseline.pairs:
        reasons.append(_reason("baseline_shares_no_task", "no task has a score both in the run and in the baseline"))
    return reasons


def _overload(load: GateLoad) -> list[GateReason]:
    told = {invocation: record.overload() for invocation, record in load.evaluations.items()}
    return [
        _reason("host_overloaded", f"in the evaluation {invocation} the host had {why}")
        for invocation, why in told.items()
        if why
    ]


def _below(name: str, comparison: Comparison) -> list[GateReason]:
    if comparison.at_least is not False:
        return []
    code: GateReasonCode = "below_reference" if name == "reference" else "below_baseline"
    means = f"{comparison.run_mean:.4f} against {comparison.other_mean:.4f}"
    figures = f"{means} ({comparison.mean_difference:+.3g}) on {comparison.pairs} task(s)"
    return [_reason(code, f"the run's mean is below that of the {name}: {figures}")]


def _reason(code: GateReasonCode, message: str) -> GateReason:
    return GateReason(code=code, message=message)
