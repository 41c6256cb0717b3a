"""The grades of a record that no grade summary grades: the official verdicts that its rows hold."""

from collections.abc import Iterable, Sequence

from obo_bench.core.ledger_row import Row
from obo_bench.core.wire_format import WireModel

_NOT_GRADED = "not_run"


class RowGrades(WireModel):
    """Instances by the verdicts of their last rows."""

    passed: int
    """Instances that the official evaluation passed."""
    failed: int
    """Instances that it did not pass."""
    ungraded: int
    """The others: without a verdict, or without a row."""


def verdict_of(row: Row | None) -> str:
    """Return the official verdict that a row holds, empty where it holds none."""
    return "" if row is None or row.official_eval_status == _NOT_GRADED else row.official_eval_status


def row_grades(verdicts: Iterable[str], requested: int | None = None) -> RowGrades | None:
    """Count verdicts, one for each instance; None where none of them is one.

    `requested` is the number of instances, where that is known and may be larger.
    """
    told: Sequence[str] = list(verdicts)
    if not any(told):
        return None
    passed, failed = told.count("pass"), told.count("fail")
    return RowGrades(passed=passed, failed=failed, ungraded=max(requested or 0, len(told)) - passed - failed)
