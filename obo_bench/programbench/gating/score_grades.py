"""Takes scores from a run's `grade_summary.json`.

A task without an official verdict has no score. One that was never submitted because its agent failed has the score 0,
as in the official mean over the benchmark; one that the infrastructure, an operator or nobody known kept from a
submission has none.
"""

from dataclasses import dataclass
from fractions import Fraction

from pydantic import ValidationError

from obo_bench.core.documents import parse_document
from obo_bench.programbench.evaluation.grade_summary import GradeSummary, InstanceGrade
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict
from obo_bench.programbench.gating.scores import Score
from obo_bench.programbench.solving.endings import CANCELLED_BY_OPERATOR, PERMANENT, REATTACHABLE

_NOT_THE_AGENTS = REATTACHABLE | PERMANENT | {CANCELLED_BY_OPERATOR}
"""Endings of the status `failed` that tell nothing of the agent, or may not be its last word."""
_LONGEST_CODE = 100


@dataclass(frozen=True)
class GradedTask:
    """What a summary says of one task."""

    score: Score | None
    """Its score; None where there is none."""
    reason: str
    """Reason of the grade; for a task without a submission why there is none."""
    counted_as_zero: bool = False
    """Whether the score is 0 because the agent failed to submit anything."""


def parse_summary(data: bytes) -> GradeSummary:
    """Return the summary; raises ValueError or RecursionError when it is none, or contradicts itself."""
    try:
        summary = parse_document(GradeSummary, data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))[:_LONGEST_CODE]}: {first['msg']}") from error
    for instance_id, grade in summary.instances.items():
        if grade.score is not None and grade.score != float(_official(grade).value):
            raise ValueError(f"{instance_id}: the score {grade.score} is not that of its counts: the file was changed")
    return summary


def graded_task(grade: InstanceGrade) -> GradedTask:
    """Return the score of a task, or why it has none."""
    if grade.score is not None and grade.verdict in (Verdict.PASS, Verdict.FAIL):
        return GradedTask(_official(grade), grade.reason)
    account = grade.account
    if grade.submission_sha256 is not None or account is None:
        return GradedTask(None, grade.reason)
    why = f"{grade.reason}: {account.reason_code[:_LONGEST_CODE]}"
    if grade.blame == Blame.SUBMISSION and account.reason_code not in _NOT_THE_AGENTS:
        return GradedTask(Score(Fraction(0)), why, counted_as_zero=True)
    return GradedTask(None, why)


def _official(grade: InstanceGrade) -> Score:
    passed, failed, not_run = grade.passed or 0, grade.failed or 0, grade.not_run or 0
    return Score.of_counts(passed, passed + failed + not_run, grade.tests_digest)
