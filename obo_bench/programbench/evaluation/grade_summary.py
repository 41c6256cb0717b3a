"""The `grade_summary.json` of a run: one verdict for every requested instance, and the official headline beside it.

Wire format `obo_bench.grade_summary.v1`. The denominator is what was requested; the official means keep their own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from obo_bench.core.files import write_json
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.evaluation.grading import Grade
from obo_bench.programbench.evaluation.instance_account import InstanceAccount, SolveTotals, total_of
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict

GRADE_SUMMARY_NAME = "grade_summary.json"

EvaluationStatus = Literal["completed", "evaluator_failed", "timed_out", "interrupted", "nothing_to_evaluate"]
"""How the evaluation as a whole ended."""

NEAR_RESOLVED = 0.95
"""Official: from this score on an instance is nearly resolved."""

FIXTURE_PREFIX = "testorg__"
"""The package's own test fixture; never part of the benchmark."""


class _Frozen(WireModel):
    model_config = ConfigDict(frozen=True)


class GradedImage(_Frozen):
    """Which image an instance was graded in, and whether it was solved in the same."""

    evaluated: str | None
    """The engine's id of the image that the evaluator used; null when it does not tell."""
    solved: str | None
    """The id of the solve's image; null where none is recorded."""
    same: bool | None
    """Whether both are one image, by id or digest; null when unknown."""


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
    official_score: float | None = None
    """What the official commands show for its file, whatever that is worth; null without a file."""
    passed: int | None = Field(ge=0)
    """Tests passed; null without an official file."""
    failed: int | None = Field(ge=0)
    """Tests that ran and did not pass; null without an official file."""
    not_run: int | None = Field(ge=0)
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
    attempts: int = Field(ge=0)
    """How often this archive was given to the evaluator in this run."""
    detail: str
    """The evaluator's own words, or why there is no submission; bounded, foreign text."""
    account: InstanceAccount | None = None
    """What its solve took; null where no ledger tells it."""
    image: GradedImage | None = None
    """The images of solve and evaluation; null when it was not evaluated, and in older files."""


class ShrunkenMean(_Frozen):
    """A mean over the graded instances only: good for diagnosis, never for publication."""

    mean_over_graded: float | None
    """Mean score of the instances with a verdict; null when there is none."""
    graded: int
    """How many those are."""
    diagnostic_not_leaderboard_valid: Literal[True] = True
    """Said in the file itself."""


class GradeFigures(_Frozen):
    """The figures of a run's grades; the formats that hold them add the instances."""

    schema_: str = Field(alias="schema")
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
    near_resolved: int | None = None
    """Official: listed instances with a score of at least 0.95, resolved ones included; null in older files."""
    shrunken_denominator: ShrunkenMean
    """Only for diagnosis."""
    solves: SolveTotals | None = None
    """What all solves took, failed and earlier attempts included; null (unknown, not 0) where no ledger tells it."""


class GradeSummary(GradeFigures):
    """The grades of a run."""

    schema_: Literal["obo_bench.grade_summary.v1"] = Field("obo_bench.grade_summary.v1", alias="schema")
    """The wire format."""
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
    accounts: Mapping[str, InstanceAccount] | None = None,
) -> GradeSummary:
    """Count `instances` (one for every requested id), and put the official headline and the accounts beside them."""
    explained = {iid: _explained(row, (accounts or {}).get(iid)) for iid, row in instances.items()}
    verdicts = [row.verdict for row in explained.values()]
    scores = [row.score for row in explained.values() if row.score is not None]
    return GradeSummary(
        invocation=invocation,
        created_at_unix=created_at_unix,
        evaluation_status=evaluation_status,
        evaluator_version=evaluator_version,
        requested=len(explained),
        submitted=sum(row.submission_sha256 is not None for row in explained.values()),
        passed=verdicts.count(Verdict.PASS),
        failed=verdicts.count(Verdict.FAIL),
        ungraded=verdicts.count(Verdict.UNGRADED),
        shrunken_denominator=ShrunkenMean(
            mean_over_graded=sum(scores) / len(scores) if scores else None, graded=len(scores)
        ),
        solves=None if accounts is None else total_of([a for iid, a in accounts.items() if iid in explained]),
        instances=explained,
        **_headline(grades, benchmark_ids),
    )


def _headline(grades: Mapping[str, Grade], benchmark_ids: Iterable[str]) -> dict[str, Any]:
    """Return the official figures: `info` means over what it lists, `submit package` over the whole benchmark."""
    listed = [g.official_score for g in grades.values() if g.official_score is not None]
    benchmark = {iid for iid in benchmark_ids if not iid.startswith(FIXTURE_PREFIX)}
    packaged = [g.packaged_score for iid, g in grades.items() if iid in benchmark and g.packaged_score is not None]
    return {
        "official_listed": len(listed),
        "official_mean_over_listed": sum(listed) / len(listed) if listed else None,
        "official_benchmark_size": len(benchmark),
        "official_mean_over_benchmark": sum(packaged) / len(benchmark) if benchmark else None,
        "resolved": sum(score == 1.0 for score in listed),
        "near_resolved": sum(score >= NEAR_RESOLVED for score in listed),
    }


def _explained(row: InstanceGrade, account: InstanceAccount | None) -> InstanceGrade:
    """Return the row with its account, which also tells why there is no submission and whose doing that is."""
    changes: dict[str, object] = {"account": account}
    if account is not None and row.reason == "no_submission":
        agent = Blame.SUBMISSION if account.status == "failed" else Blame.UNKNOWN
        changes |= {"detail": account.reason_code, "blame": Blame.HOST if account.infrastructure else agent}
    return row.model_copy(update=changes)


def write_grade_summary(run_root: Path, summary: GradeSummary) -> Path:
    """Write `grade_summary.json` atomically and return its path; raises OSError."""
    path = run_root / GRADE_SUMMARY_NAME
    write_json(path, summary.document())
    return path
