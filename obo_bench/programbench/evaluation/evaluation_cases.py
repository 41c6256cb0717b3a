"""One case per requested instance: what is known before the evaluator runs, and the grade once it has run.

A case is settled at once when its archive is not what was recorded, when the package does not know it, or when an
earlier official file is proven to belong to the same archive, tests, evaluator and allowed image. An instance that the
selection leaves out keeps the grade it had. All others are pending.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import sha256_file
from obo_bench.engine.images import ImageIdentity
from obo_bench.programbench.admission.order import AdmittedImage
from obo_bench.programbench.evaluation.eval_files import (
    EvalProvenance,
    digest_of_tests,
    eval_json_path,
    proven,
    set_aside,
    write_provenance,
)
from obo_bench.programbench.evaluation.evaluation_request import EvaluationRequest
from obo_bench.programbench.evaluation.evaluator_program import EvaluatorIdentity
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary, InstanceGrade
from obo_bench.programbench.evaluation.graded_image import CLEANROOM_TAG, ImageFinding, find_image, pin_trouble
from obo_bench.programbench.evaluation.grading import Grade, ScoringPlan, grade_file, scoring_plan, ungraded
from obo_bench.programbench.evaluation.verdicts import FAILED_BUILDS, Blame, Verdict, ruling_for


@dataclass
class Case:
    """The evaluation of one requested instance."""

    instance_id: str
    """The instance."""
    submission_sha256: str | None
    """Recorded SHA-256 of its archive; None without a submission."""
    selected: bool = True
    """Whether it is to be evaluated; else only what is proven of it is kept."""
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
    begun: bool = False
    """Its turn has come in this evaluation: what was known of it before is set aside."""
    image: ImageFinding | None = None
    """The image it was graded in; None while nothing is known of it."""

    def row(self, redact: Callable[[str], str]) -> InstanceGrade:
        """Return the case's row of the summary, its foreign text without secrets."""
        grade = self.grade or ungraded("evaluator_interrupted")
        return InstanceGrade(
            verdict=grade.verdict,
            reason=grade.reason,
            blame=grade.blame,
            score=grade.score,
            official_score=grade.official_score,
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
            image=self.image.graded if self.image else None,
        )


@dataclass(frozen=True)
class Bench:
    """Where the cases live and who evaluates them."""

    request: EvaluationRequest
    """What was asked for."""
    evaluator: EvaluatorIdentity
    """The evaluator."""
    earlier: Mapping[str, InstanceGrade]
    """The rows of the summary that an earlier evaluation has left."""
    solved_images: Mapping[str, Mapping[str, Any]]
    """The images that the solves have recorded, by instance id."""

    @property
    def run_root(self) -> Path:
        """Holds `<iid>/submission.tar.gz`."""
        return self.request.run_root

    def archive(self, instance_id: str) -> Path:
        """Return where an instance's archive is."""
        return self.run_root / instance_id / "submission.tar.gz"

    def compare_image(self, case: Case, identity: ImageIdentity | None) -> ImageFinding:
        """Compare an image with that of the case's solve."""
        return find_image(self.solved_images.get(case.instance_id, {}), identity)


def earlier_rows(run_root: Path) -> dict[str, InstanceGrade]:
    """Return the rows of an earlier summary by instance id; empty where there is none that can be read."""
    try:
        return dict(read_document(GradeSummary, run_root / GRADE_SUMMARY_NAME).instances)
    except UnreadableDocument:
        return {}


def earlier_row(earlier: Mapping[str, InstanceGrade], instance_id: str, sha256: str | None) -> InstanceGrade | None:
    """Return what an earlier summary says of this very archive."""
    row = earlier.get(instance_id)
    return row if row is not None and sha256 is not None and row.submission_sha256 == sha256 else None


def prepare_case(bench: Bench, case: Case) -> None:
    """Settle the case or leave it pending; an eval.json that is not proven to be its own is set aside.

    The files of an instance that is not selected are left alone, and those of one that is to be evaluated again until
    its turn comes. Raises OSError when a stale file cannot be moved.
    """
    forced = bench.request.force and case.selected
    case.grade = _fault_of(bench, case) or (None if forced else _kept_grade(bench, case))
    if not case.selected:
        case.grade = case.grade or _as_before(earlier_row(bench.earlier, case.instance_id, case.submission_sha256))
    elif case.evaluator_version is None and (case.grade is not None or not forced):
        set_aside(bench.run_root, case.instance_id, bench.request.invocation)


def begin(bench: Bench, case: Case) -> None:
    """Clear the way for the case's evaluator; raises OSError when an earlier file cannot be moved."""
    set_aside(bench.run_root, case.instance_id, bench.request.invocation)
    case.begun = True


def give_up(bench: Bench, case: Case, reason: str) -> None:
    """Settle a pending case at the end of an evaluation that was broken off.

    One whose turn had not come keeps the grade that is proven of it. Raises OSError.
    """
    prepared = case.tests_digest is not None
    if prepared and not case.begun:
        case.grade = _kept_grade(bench, case)
    if case.grade is None:
        settle_distrusted(bench, case, reason)


def _fault_of(bench: Bench, case: Case) -> Grade | None:
    """Return the grade of a case that cannot be evaluated, else fill in what its evaluation needs."""
    if case.submission_sha256 is None:
        return ungraded("no_submission")
    fault = archive_fault(bench, case)
    if fault is not None:
        return fault
    tests = bench.evaluator.tests(case.instance_id)
    if tests is None:
        return ungraded("unknown_to_evaluator", f"no such task in {bench.evaluator.tasks_dir}")
    case.plan = scoring_plan(tests)
    task_dir = bench.evaluator.tasks_dir / case.instance_id
    case.tests_digest = digest_of_tests(task_dir, case.plan.active_branches, bench.request.environ)
    return None


def tests_fault(bench: Bench, case: Case) -> Grade | None:
    """Return why a case's tests are not those that it was prepared with, None when they are."""
    task_dir = bench.evaluator.tasks_dir / case.instance_id
    try:
        found = digest_of_tests(task_dir, case.plan.active_branches, bench.request.environ)
    except OSError as error:
        return ungraded("tests_changed", str(error))
    return None if found == case.tests_digest else ungraded("tests_changed", f"{case.tests_digest} became {found}")


def archive_fault(bench: Bench, case: Case) -> Grade | None:
    """Return why the archive on disk is not the recorded one, None when it is."""
    try:
        found = sha256_file(bench.archive(case.instance_id))
    except OSError as error:
        return ungraded("submission_missing", str(error))
    if found != case.submission_sha256:
        return ungraded("submission_changed", f"sha256 is {found}, recorded was {case.submission_sha256}")
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
    if proof is None or _is_forbidden(bench, case, proof):
        return None
    kept, digest = grade_file(eval_json_path(bench.run_root, case.instance_id), case.plan)
    if digest != proof.eval_json_sha256 or (kept.verdict is Verdict.UNGRADED and case.selected):
        return None
    case.evaluator_version = proof.evaluator_version
    case.started_at_unix, case.finished_at_unix = proof.started_at_unix, proof.finished_at_unix
    case.image = bench.compare_image(case, _identity(proof))
    return kept


def _is_forbidden(bench: Bench, case: Case, proof: EvalProvenance) -> bool:
    """Say whether the pins rule out the image that a file was made in; an unknown one is no pinned one."""
    image, found = bench.evaluator.image_name(case.instance_id, CLEANROOM_TAG), _identity(proof)
    pins = bench.request.pins
    return pins is not None and (found is None or pin_trouble(pins, case.instance_id, image, found) is not None)


def _identity(proof: EvalProvenance) -> ImageIdentity | None:
    image = proof.image
    return ImageIdentity(image.name, image.id, tuple(image.digests)) if image else None


def _as_before(earlier: InstanceGrade | None) -> Grade:
    """Return the state of an instance that is left out and has no proven file: why it has no grade has not changed."""
    if earlier is None or earlier.verdict != Verdict.UNGRADED:
        return ungraded("not_evaluated")
    blame = earlier.blame if isinstance(earlier.blame, Blame) else Blame.UNKNOWN
    return Grade(Verdict.UNGRADED, earlier.reason, blame, detail=earlier.detail)


def settle_fresh(
    bench: Bench, case: Case, told: tuple[str, str] | None, image: ImageIdentity | None, *, container_lost: bool
) -> None:
    """Grade a pending case after an evaluator that ended normally, and prove its file.

    `told` is the exception that the evaluator reported for the instance; `image`, what it was evaluated in;
    `container_lost`, that the container was ended from outside: then a failure before the tests is not the
    submission's. Raises OSError when the proof can't be kept.
    """
    path = eval_json_path(bench.run_root, case.instance_id)
    case.grade, digest = grade_file(path, case.plan)
    case.finished_at_unix = time.time()
    if not digest:
        if told and case.grade.reason == "eval_json_missing":
            case.grade = ungraded(*told)
        return
    if told and ruling_for(told[0])[0] != case.grade.reason:
        # The evaluator gave this instance up, or says another thing of it: somebody else has written the file.
        settle_distrusted(bench, case, *told)
        return
    if container_lost and case.grade.reason in FAILED_BUILDS:
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
            invocation=bench.request.invocation,
            started_at_unix=case.started_at_unix or 0.0,
            finished_at_unix=case.finished_at_unix,
            image=AdmittedImage(name=image.name, id=image.id, digests=list(image.digests)) if image else None,
        ),
    )


def settle_distrusted(bench: Bench, case: Case, reason: str, detail: str = "") -> None:
    """Leave a pending case ungraded after an abnormal end; what the evaluator wrote meanwhile is set aside."""
    if case.tests_digest is not None:
        set_aside(bench.run_root, case.instance_id, bench.request.invocation)
    if case.started_at_unix is not None:
        case.finished_at_unix = time.time()
    case.grade = ungraded(reason, detail)
