"""One case per requested instance: what is known before the evaluator runs, and the grade once it has run.

A case is settled at once when its archive is not what was recorded, when the package does not know it, or when an
earlier official file is proven to belong to the same archive, tests and evaluator. All others are pending.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.files import read_json_object, sha256_file
from obo_bench.programbench.evaluation.eval_files import (
    EvalProvenance,
    digest_of_tests,
    eval_json_path,
    proven,
    set_aside,
    write_provenance,
)
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, InstanceGrade
from obo_bench.programbench.evaluation.grading import Grade, ScoringPlan, grade_file, scoring_plan, ungraded
from obo_bench.programbench.evaluation.official import EvaluatorIdentity
from obo_bench.programbench.evaluation.verdicts import Verdict


@dataclass
class Case:
    """The evaluation of one requested instance."""

    instance_id: str
    """The instance."""
    submission_sha256: str | None
    """Recorded SHA-256 of its archive; None without a submission."""
    grade: Grade | None = None
    """None while pending."""
    plan: ScoringPlan = field(default_factory=lambda: ScoringPlan((), frozenset()))
    """Which tests count."""
    tests_digest: str | None = None
    """Digest of the tests; None until they were found."""
    evaluator_version: str | None = None
    """The evaluator that graded it; None when none did."""
    started_at_unix: float | None = None
    """Start of that evaluator."""
    finished_at_unix: float | None = None
    """When its result was written, or it ended."""
    attempts: int = 0
    """How often this archive was given to the evaluator."""

    def row(self, redact: Callable[[str], str]) -> InstanceGrade:
        """Return the case's row of the summary, its foreign text without secrets."""
        grade = self.grade or ungraded("evaluator_interrupted")
        return InstanceGrade(
            verdict=grade.verdict,
            reason=grade.reason,
            blame=grade.blame,
            score=grade.score,
            passed=grade.passed,
            failed=grade.failed,
            not_run=grade.not_run,
            submission_sha256=self.submission_sha256,
            evaluator_version=self.evaluator_version,
            tests_digest=self.tests_digest,
            started_at_unix=self.started_at_unix,
            finished_at_unix=self.finished_at_unix,
            attempts=self.attempts,
            detail=redact(grade.detail),
        )


@dataclass(frozen=True)
class Bench:
    """Where the cases live and who evaluates them."""

    run_root: Path
    """Holds `<iid>/submission.tar.gz`."""
    invocation: str
    """The invocation that evaluates."""
    environ: Mapping[str, str]
    """The evaluator's environment."""
    evaluator: EvaluatorIdentity
    """The evaluator."""


def prepare_case(bench: Bench, case: Case) -> None:
    """Settle the case or leave it pending; an eval.json that is not proven to be its own is set aside.

    Raises OSError when a stale file cannot be moved.
    """
    case.attempts = _earlier_attempts(bench, case.instance_id, case.submission_sha256)
    case.grade = _fault_of(bench, case) or _kept_grade(bench, case)
    if case.evaluator_version is None:
        set_aside(bench.run_root, case.instance_id, bench.invocation)


def _earlier_attempts(bench: Bench, instance_id: str, submission_sha256: str | None) -> int:
    summary = read_json_object(bench.run_root / GRADE_SUMMARY_NAME) or {}
    instances = summary.get("instances")
    row = instances.get(instance_id) if isinstance(instances, dict) else None
    if not isinstance(row, dict) or submission_sha256 is None or row.get("submission_sha256") != submission_sha256:
        return 0
    attempts = row.get("attempts")
    return attempts if isinstance(attempts, int) else 0


def _fault_of(bench: Bench, case: Case) -> Grade | None:
    """Return the grade of a case that cannot be evaluated, else fill in what its evaluation needs."""
    if case.submission_sha256 is None:
        return ungraded("no_submission")
    archive = bench.run_root / case.instance_id / "submission.tar.gz"
    try:
        found = sha256_file(archive)
    except OSError as error:
        return ungraded("submission_missing", str(error))
    if found != case.submission_sha256:
        return ungraded("submission_changed", f"sha256 is {found}, recorded was {case.submission_sha256}")
    task_dir = bench.evaluator.tasks_dir / case.instance_id
    tests = read_json_object(task_dir / "tests.json")
    if tests is None or not (task_dir / "task.yaml").is_file():
        return ungraded("unknown_to_evaluator", f"no such task in {bench.evaluator.tasks_dir}")
    case.plan = scoring_plan(tests)
    case.tests_digest = digest_of_tests(task_dir, case.plan.active_branches, bench.environ)
    return None


def _kept_grade(bench: Bench, case: Case) -> Grade | None:
    """Return the grade of a proven earlier file, or None: then the case is to be evaluated.

    An earlier file without a verdict is not kept, so that an infrastructure fault is tried again.
    """
    expected = {
        "submission_sha256": str(case.submission_sha256),
        "evaluator_version": bench.evaluator.version,
        "tests_digest": str(case.tests_digest),
    }
    proof = proven(bench.run_root, case.instance_id, expected)
    if proof is None:
        return None
    kept, digest = grade_file(eval_json_path(bench.run_root, case.instance_id), case.plan)
    if kept.verdict is Verdict.UNGRADED or digest != proof.eval_json_sha256:
        return None
    case.evaluator_version = proof.evaluator_version
    case.started_at_unix, case.finished_at_unix = proof.started_at_unix, proof.finished_at_unix
    return kept


_BEFORE_TESTS = frozenset({"compile_failed", "copy_executable_failed", "hash_executable_failed"})


def settle_fresh(bench: Bench, case: Case, told: tuple[str, str] | None, *, container_lost: bool) -> None:
    """Grade a pending case after an evaluator that ended normally, and prove its file.

    `told` is the exception that the evaluator reported for the instance; `container_lost`, that the container was
    ended from outside: then a failure before the tests is not the submission's. Raises OSError when the proof
    can't be kept.
    """
    path = eval_json_path(bench.run_root, case.instance_id)
    case.grade, digest = grade_file(path, case.plan)
    case.finished_at_unix = time.time()
    if not digest:
        if told and case.grade.reason == "eval_json_missing":
            case.grade = ungraded(*told)
        return
    if container_lost and case.grade.reason in _BEFORE_TESTS:
        settle_distrusted(bench, case, "evaluator_container_lost")
        return
    case.evaluator_version = bench.evaluator.version
    case.finished_at_unix = path.stat().st_mtime
    write_provenance(
        bench.run_root,
        EvalProvenance(
            schema="obo_bench.eval_provenance.v1",
            instance_id=case.instance_id,
            submission_sha256=str(case.submission_sha256),
            evaluator_version=bench.evaluator.version,
            tests_digest=str(case.tests_digest),
            eval_json_sha256=digest,
            invocation=bench.invocation,
            started_at_unix=case.started_at_unix or 0.0,
            finished_at_unix=case.finished_at_unix,
        ),
    )


def settle_distrusted(bench: Bench, case: Case, reason: str) -> None:
    """Leave a pending case ungraded after an abnormal end; what the evaluator wrote meanwhile is set aside."""
    if case.started_at_unix is not None:
        set_aside(bench.run_root, case.instance_id, bench.invocation)
        case.finished_at_unix = time.time()
    case.grade = ungraded(reason)
