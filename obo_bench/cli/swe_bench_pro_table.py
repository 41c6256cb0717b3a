"""The grades of SWE-bench Pro results for people: the headline first, and everything that speaks against it."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.launch.swe_bench_pro.grade_summary import InstanceVerdict, ProGradeSummary

_SHOWN = 10


def table(summary: "ProGradeSummary") -> str:
    """Return the text; what is foreign in it is printable."""
    figures = list(_figures(summary))
    width = max(len(label) for label, _, _ in figures)
    lines = [f"  {label:<{width}}  {value:>7}  {note}".rstrip() for label, value, note in figures]
    return "\n".join(["SWE-bench Pro, official results", *lines, *_notes(summary)])


def _figures(summary: "ProGradeSummary") -> Iterator[tuple[str, str, str]]:
    yield "submitted", str(summary.submitted), _blank(summary)
    yield "pass", str(summary.passed), ""
    yield "fail", str(summary.failed), ""
    yield "ungraded", str(summary.ungraded), _reasons(summary)
    yield "raw pass@1", _percent(summary.headline_raw_pass_at_1_pct), "pass / submitted"
    yield "pass over graded", _percent(summary.diagnostic_pass_over_graded_pct), "diagnostic, not leaderboard-valid"


def _notes(summary: "ProGradeSummary") -> Iterator[str]:
    ungraded = [row for row in summary.verdicts if row.reason is not None]
    yield from (f"  {_ungraded(row)}" for row in ungraded[:_SHOWN])
    if len(ungraded) > _SHOWN:
        yield f"  and {len(ungraded) - _SHOWN} more without a verdict, all in the summary"
    if older := sum(row.older_than_predictions is True for row in summary.verdicts):
        yield f"  WARNING: {older} official output(s) are older than the predictions: of an earlier evaluation?"
    if conflicting := sum(row.conflicting_tests > 0 for row in summary.verdicts):
        yield f"  WARNING: {conflicting} official output(s) give a required test several statuses; PASSED counts"
    if summary.repeated_predictions:
        yield f"  note: {summary.repeated_predictions} prediction(s) only repeat an earlier one"
    if not summary.submitted:
        yield "  WARNING: no prediction has a patch: nothing was submitted"


def _ungraded(row: "InstanceVerdict") -> str:
    detail = f" ({row.detail})" if row.detail else ""
    return printable(f"{row.instance_id}: {row.reason}{detail}")


def _blank(summary: "ProGradeSummary") -> str:
    blank = len(summary.blank_predictions)
    return f"{blank} more with a blank patch: not submitted" if blank else ""


def _reasons(summary: "ProGradeSummary") -> str:
    counted = Counter(row.reason for row in summary.verdicts if row.reason is not None)
    return ", ".join(printable(f"{reason} {number}") for reason, number in counted.most_common(_SHOWN))


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f} %"
