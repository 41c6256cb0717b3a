"""Grades one `<iid>.eval.json` with the official formula: passed / all entries of active branches that are not ignored.

The file is read as strictly as the official reader does (unknown keys are rejected). A fault of the evaluation
itself never becomes a score: such a grade is `ungraded` and its score None.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from obo_bench.programbench.evaluation.verdicts import (
    FAILED_BUILDS,
    MISSING_TEST,
    Blame,
    Ruling,
    Verdict,
    ruling_for,
    ruling_without_verdict,
)

MAX_EVAL_JSON_BYTES = 512 * 1024 * 1024
"""A larger file is not read: its log alone would fill the memory."""


class RecordedTest(BaseModel):
    """One entry of `test_results`."""

    model_config = ConfigDict(extra="forbid")

    name: str
    """The test's dotted name."""
    branch: str = ""
    """The test branch that it belongs to."""
    status: Literal["passed", "skipped", "failure", "error", "system_error", "not_run"]
    """The official status."""
    extra: dict[str, Any]
    """Time, texts, and the cause of `not_run`."""

    @property
    def full_name(self) -> str:
        """The name that the lists of ignored tests use."""
        return f"{self.branch}/{self.name}" if self.branch else self.name


class RecordedBranchError(BaseModel):
    """One entry of `test_branch_errors`."""

    model_config = ConfigDict(extra="forbid")

    error_code: str
    """The official code."""
    error_details: str
    """Output of the failing step."""


class RecordedEvaluation(BaseModel):
    """The official eval.json."""

    model_config = ConfigDict(extra="forbid")

    test_results: list[RecordedTest] = []
    """All tests, ignored ones too."""
    error_code: str | None = None
    """What stopped the instance before its tests."""
    error_details: str | None = None
    """Output of that step."""
    log: list[dict[str, Any]] = []
    """Every step with its output."""
    solution_branch: str | None = None
    """Always "submission"."""
    test_branches: list[str] = []
    """The branches that were run."""
    test_branch_errors: dict[str, list[RecordedBranchError]] = {}
    """What stopped single branches."""
    executable_hash: str | None = None
    """SHA-256 of the built program."""
    warnings: list[str] = []
    """The evaluator's remarks."""


@dataclass(frozen=True)
class ScoringPlan:
    """What the package's tests.json says about one instance."""

    active_branches: tuple[str, ...]
    """Branches that count."""
    ignored_tests: frozenset[str]
    """`branch/test` names that do not count."""


@dataclass(frozen=True)
class Grade:
    """The grade of one instance."""

    verdict: Verdict
    """pass, fail or ungraded."""
    reason: str
    """A key of `RULINGS`, or `unknown_error_code:<code>`."""
    blame: Blame | None
    """Who kept it from passing; None for a pass."""
    score: float | None = None
    """The official score, 0 to 1; None when ungraded."""
    official_score: float | None = None
    """What `programbench eval` and `info` show for the file, whatever it is worth; None without a file."""
    packaged_score: float | None = None
    """What `programbench submit package` makes of it: the same, but of tests with one name only the last counts."""
    passed: int | None = None
    """Tests passed; None without a file."""
    failed: int | None = None
    """Tests that ran and did not pass (failure, error, system_error, skipped)."""
    not_run: int | None = None
    """Tests without a result."""
    detail: str = ""
    """The evaluator's own words, bounded."""


def ungraded(code: str, message: str = "") -> Grade:
    """Return the grade of an instance without an official file; `message` is the evaluator's own text."""
    reason, ruling = ruling_for(code, message)
    return Grade(Verdict.UNGRADED, reason, ruling.blame or Blame.UNKNOWN, detail=message[:500])


def scoring_plan(tests: Mapping[str, Any]) -> ScoringPlan:
    """Return the plan in a parsed tests.json."""
    branches: Mapping[str, Any] = tests.get("branches") or {}
    ignored = (f"{branch}/{t['name']}" for branch, info in branches.items() for t in info.get("ignored_tests") or [])
    return ScoringPlan(tuple(b for b, info in branches.items() if not info.get("ignored")), frozenset(ignored))


def grade_file(path: Path, plan: ScoringPlan) -> tuple[Grade, str]:
    """Grade the eval.json at `path`; also return the SHA-256 of the very bytes that were graded ("" if unread)."""
    try:
        if path.stat().st_size > MAX_EVAL_JSON_BYTES:
            return ungraded("eval_json_too_large"), ""
        data = path.read_bytes()
    except FileNotFoundError:
        return ungraded("eval_json_missing"), ""
    except OSError as error:
        return ungraded("eval_json_unreadable", str(error)), ""
    digest = hashlib.sha256(data).hexdigest()
    try:
        recorded = RecordedEvaluation.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return ungraded("eval_json_unreadable", f"{first['loc']}: {first['msg']}"), digest
    return grade(recorded, plan), digest


def grade(recorded: RecordedEvaluation, plan: ScoringPlan) -> Grade:
    """Grade one official result."""
    counted = _counted_tests(recorded, plan)
    passed = sum(t.status == "passed" for t in counted)
    not_run = sum(t.status == "not_run" for t in counted)
    official_score = passed / len(counted) if counted else 0.0
    reason, ruling, detail = _ruling(recorded, plan, counted, official_score)
    return Grade(
        verdict=ruling.verdict,
        reason=reason,
        blame=ruling.blame,
        score=None if ruling.verdict is Verdict.UNGRADED else official_score,
        official_score=official_score,
        packaged_score=_packaged_score(counted),
        passed=passed,
        failed=len(counted) - passed - not_run,
        not_run=not_run,
        detail=detail[:500],
    )


def _counted_tests(recorded: RecordedEvaluation, plan: ScoringPlan) -> list[RecordedTest]:
    tests = recorded.test_results
    if sorted(recorded.test_branches) != sorted(plan.active_branches):
        tests = [t for t in tests if t.branch in plan.active_branches]
    return [t for t in tests if t.full_name not in plan.ignored_tests]


def _packaged_score(counted: list[RecordedTest]) -> float:
    resolved = {t.full_name: t.status == "passed" for t in counted}
    return sum(resolved.values()) / len(resolved) if resolved else 0.0


def _ruling(
    recorded: RecordedEvaluation, plan: ScoringPlan, counted: list[RecordedTest], score: float
) -> tuple[str, Ruling, str]:
    """Return reason, ruling and detail: a fault of the evaluation goes before any score."""
    code = recorded.error_code
    if code is not None:
        ruled = ruling_for(code) if code in FAILED_BUILDS else ruling_without_verdict(code)
        return *ruled, recorded.error_details or ""
    errors = [e for b in plan.active_branches for e in recorded.test_branch_errors.get(b, [])]
    if errors:
        return *ruling_without_verdict(errors[0].error_code), errors[0].error_details
    absent = sorted(set(plan.active_branches) - set(recorded.test_branches))
    if absent:
        return *ruling_for("incomplete_branches"), ", ".join(absent)
    if not counted:
        return *ruling_for("no_tests_recorded"), ""
    return *_ruling_by_tests(counted, score), ""


def _ruling_by_tests(counted: list[RecordedTest], score: float) -> tuple[str, Ruling]:
    if score == 1.0:
        return ruling_for("all_tests_passed")
    causes = {str(t.extra.get("error_code") or "not_run") for t in counted if t.status == "not_run"}
    for cause in sorted(causes - {MISSING_TEST}):
        return ruling_without_verdict(cause)
    only_missing = causes and all(t.status in ("passed", "not_run") for t in counted)
    return ruling_for(MISSING_TEST if only_missing else "tests_failed")


def tests_digest(task_dir: Path, archives: Mapping[str, str]) -> str:
    """Return one SHA-256 over the instance's task files and `archives` (what identifies its test archives).

    Raises OSError when a task file cannot be read.
    """
    parts = {name: hashlib.sha256((task_dir / name).read_bytes()).hexdigest() for name in ("task.yaml", "tests.json")}
    canonical = json.dumps({"files": parts, "archives": dict(archives)}, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
