"""The grades of a run for people: both denominators, the reasons, and what the solves took."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.programbench.evaluation.grade_summary import GradeSummary, InstanceGrade
    from obo_bench.programbench.evaluation.instance_account import SolveTotals

_REASONS_SHOWN = 6
_LONGEST_REASON = 80


def grade_lines(summary: "GradeSummary") -> list[str]:
    """Return the lines of the table; foreign text in them is bounded and free of control characters."""
    version = printable(summary.evaluator_version or "not there")
    figures = list(_figures(summary))
    width = max(len(label) for label, _, _ in figures)
    lines = [f"official evaluation: {summary.evaluation_status} (programbench {version})"]
    return lines + [f"  {label:<{width}}  {value:>6}  {note}".rstrip() for label, value, note in figures]


def _figures(summary: "GradeSummary") -> Iterator[tuple[str, str, str]]:
    yield "requested", str(summary.requested), ""
    yield "submitted", str(summary.submitted), ""
    yield "pass", str(summary.passed), ""
    yield "fail", str(summary.failed), _reasons(summary, "fail")
    yield "ungraded", str(summary.ungraded), _reasons(summary, "ungraded")
    listed, size = summary.official_listed, summary.official_benchmark_size
    yield "official mean over listed", _score(summary.official_mean_over_listed), f"{listed} listed"
    yield "official mean over benchmark", _score(summary.official_mean_over_benchmark), f"{size} instances"
    yield "resolved", str(summary.resolved), "official score of exactly 1"
    yield "near-resolved", _count(summary.near_resolved), "official score of at least 0.95"
    shrunken = summary.shrunken_denominator
    note = f"over {shrunken.graded} graded: diagnostic, not leaderboard-valid"
    yield "mean over graded", _score(shrunken.mean_over_graded), note
    again = sum(row.attempts > 1 for row in summary.instances.values())
    if again:
        yield "evaluated again", str(again), "submissions that were given to the evaluator more than once"
    yield from _solves(summary.solves)


def _solves(totals: "SolveTotals | None") -> Iterator[tuple[str, str, str]]:
    if totals is None:
        yield "solve attempts", "?", "no ledger tells attempts and cost"
        return
    several = totals.instances_with_several_attempts
    repeats = (
        f"{several} instance(s) with several: {totals.repeats_after_infrastructure} after infrastructure failures, "
        f"{totals.repeats_asked_for} asked for, {totals.repeats_undeclared} UNDECLARED"
    )
    yield "solve attempts", str(totals.attempts), repeats if several else ""
    unknown = f", unknown for {totals.unknown_costs} attempt(s)" if totals.unknown_costs else ""
    bound = "at least" if totals.lower_bound else "in all"
    yield "solve cost", f"{totals.known_usd:.4f}", f"USD {bound}, all attempts{unknown}"
    if totals.degraded:
        yield "degraded", str(totals.degraded), "submissions of solves that were not clean"


def _reasons(summary: "GradeSummary", verdict: str) -> str:
    counted = Counter(_reason(row) for row in summary.instances.values() if row.verdict == verdict)
    shown = [f"{reason} {number}" for reason, number in counted.most_common(_REASONS_SHOWN)]
    rest = len(counted) - len(shown)
    return ", ".join([*shown, f"{rest} more reason(s)"] if rest else shown)


def _reason(row: "InstanceGrade") -> str:
    why = f" ({row.account.reason_code})" if row.account is not None and row.reason == "no_submission" else ""
    return printable(f"{row.reason}{why}"[:_LONGEST_REASON])


def _score(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)
