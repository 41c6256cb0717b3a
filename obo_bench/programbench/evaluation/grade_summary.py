"""The `grade_summary.json` of a run: one verdict for every requested instance, and the official headline beside it.

Wire format `obo_bench.grade_summary.v1`. The denominator is what was requested; the official means keep their own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.files import write_json
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.evaluation.grading import Grade
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict

GRADE_SUMMARY_NAME = "grade_summary.json"

EvaluationStatus = Literal["completed", "evaluator_failed", "timed_out", "interrupted", "nothing_to_evaluate"]
"""How the evaluation as a whole ended."""

FIXTURE_PREFIX = "testorg__"
"""The package's own test fixture; never part of the benchmark."""


class _Frozen(WireModel):
    model_config = ConfigDict(frozen=True)


class InstanceGrade(_Frozen):
    """The grade of one requested instance."""

    verdict: Verdict | LaterWord
    """pass, fail or ungraded."""
    reason: str
    """Why; a word of the verdict table."""
    blame: Blame | LaterWord | None
    """Who kept it from passing; null for a pass."""
    score: float | None
    """Official score from 0 to 1; null when ungraded."""
    passed: int | None
    """Tests passed; null without an official file."""
    failed: int | None
    """Tests that ran and did not pass; null without an official file."""
    not_run: int | None
    """Tests without a result; null without an official file."""
    submission_sha256: str | None
    """SHA-256 of the submitted archive; null when none was submitted."""
    evaluator_version: str | None
    """Version of the programbench package that evaluated it; null when none did."""
    tests_digest: str | None
    """Digest of the tests it was evaluated with; null when it was not."""
    started_at_unix: float | None
    """Start of the evaluator that made the grade; null when none did."""
    finished_at_unix: float | None
    """When its result was written, or the evaluator ended."""
    attempts: int
    """How often this archive was given to the evaluator in this run."""
    detail: str
    """The evaluator's own words, bounded; foreign text."""


class ShrunkenMean(_Frozen):
    """A mean over the graded instances only: good for diagnosis, never for publication."""

    mean_over_graded: float | None
    """Mean score of the instances with a verdict; null when there is none."""
    graded: int
    """How many those are."""
    diagnostic_not_leaderboard_valid: Literal[True] = True
    """Said in the file itself."""


class GradeSummary(_Frozen):
    """The grades of a run."""

    schema_: Literal["obo_bench.grade_summary.v1"] = Field("obo_bench.grade_summary.v1", alias="schema")
    """The wire format."""
    invocation: str
    """The invocation that graded."""
    created_at_unix: float
    """When this was written."""
    evaluation_status: EvaluationStatus | LaterWord
    """How the evaluation as a whole ended."""
    evaluator_version: str | None
    """Version of the programbench package; null when it is not there."""
    requested: int
    """Instances that the run was asked for: the denominator."""
    submitted: int
    """Requested instances with a submission."""
    passed: int = Field(alias="pass")
    """Instances with the official score 1.0."""
    failed: int = Field(alias="fail")
    """Instances with an official verdict below."""
    ungraded: int
    """Instances without an official verdict, those without a submission included."""
    official_listed: int
    """Instances that `programbench info` lists: those with a fresh official file."""
    official_mean_over_listed: float | None
    """Official: mean score over the listed instances; null when there is none."""
    official_benchmark_size: int
    """Instances of the benchmark that the package knows, without its fixture."""
    official_mean_over_benchmark: float | None
    """Official: sum of the scores over all instances of the benchmark, missing ones counting 0."""
    resolved: int
    """Official: listed instances with a score of exactly 1.0."""
    shrunken_denominator: ShrunkenMean
    """Only for diagnosis."""
    instances: dict[str, InstanceGrade]
    """By instance id, in the requested order."""


def build_grade_summary(
    *,
    invocation: str,
    created_at_unix: float,
    evaluation_status: EvaluationStatus,
    evaluator_version: str | None,
    benchmark_ids: Iterable[str],
    grades: Mapping[str, Grade],
    instances: Mapping[str, InstanceGrade],
) -> GradeSummary:
    """Count `instances` (one for every requested id) and compute the official headline from their `grades`."""
    listed = {iid: g.official_score for iid, g in grades.items() if g.official_score is not None}
    benchmark = {iid for iid in benchmark_ids if not iid.startswith(FIXTURE_PREFIX)}
    verdicts = [i.verdict for i in instances.values()]
    scores = [i.score for i in instances.values() if i.score is not None]
    return GradeSummary(
        invocation=invocation,
        created_at_unix=created_at_unix,
        evaluation_status=evaluation_status,
        evaluator_version=evaluator_version,
        requested=len(instances),
        submitted=sum(i.submission_sha256 is not None for i in instances.values()),
        passed=verdicts.count(Verdict.PASS),
        failed=verdicts.count(Verdict.FAIL),
        ungraded=verdicts.count(Verdict.UNGRADED),
        official_listed=len(listed),
        official_mean_over_listed=sum(listed.values()) / len(listed) if listed else None,
        official_benchmark_size=len(benchmark),
        official_mean_over_benchmark=(
            sum(s for iid, s in listed.items() if iid in benchmark) / len(benchmark) if benchmark else None
        ),
        resolved=sum(score == 1.0 for score in listed.values()),
        shrunken_denominator=ShrunkenMean(
            mean_over_graded=sum(scores) / len(scores) if scores else None, graded=len(scores)
        ),
        instances=dict(instances),
    )


def write_grade_summary(run_root: Path, summary: GradeSummary) -> Path:
    """Write `grade_summary.json` atomically and return its path; raises OSError."""
    path = run_root / GRADE_SUMMARY_NAME
    write_json(path, summary.document())
    return path
