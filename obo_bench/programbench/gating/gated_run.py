"""The run that stands before the gate: its record, its grades, and what these say of each task."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import LARGEST_DOCUMENT, sha256_file
from obo_bench.core.peek import peek
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.why import why
from obo_bench.programbench.evaluation.eval_files import proven
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary, InstanceGrade
from obo_bench.programbench.gating.living_run import refuse_living
from obo_bench.programbench.gating.score_grades import GradedTask, graded_task, parse_summary
from obo_bench.programbench.gating.score_stats import load_object
from obo_bench.programbench.gating.scores import InputFile


@dataclass(frozen=True)
class GatedRun:
    """A graded run as its directory tells it."""

    root: Path
    """Its directory."""
    manifest: dict[str, Any]
    """Its manifest."""
    summary: GradeSummary
    """Its grades."""
    inputs: tuple[InputFile, ...]
    """Manifest and summary."""

    @property
    def outcome(self) -> str:
        """The outcome in its manifest."""
        return _outcome(self.manifest)

    def grade(self, instance_id: str) -> InstanceGrade | None:
        """Return the grade of a task, None where the run was not asked for it."""
        return self.summary.instances.get(instance_id)

    def task(self, instance_id: str) -> GradedTask:
        """Return the score of a task; what is not the graded archive any more, or not its result, takes it away."""
        grade = self.grade(instance_id)
        if grade is None:
            return GradedTask(None, "not_requested")
        told = graded_task(grade)
        if told.score is None or told.counted_as_zero:
            return told
        try:
            found = sha256_file(self.root / instance_id / "submission.tar.gz")
        except OSError:
            return GradedTask(None, "submission_missing")
        if found != grade.submission_sha256:
            return GradedTask(None, "submission_changed")
        # The summary outlives a killed evaluation that has set its results aside.
        names = ("submission_sha256", "evaluator_version", "tests_digest")
        expected = {name: str(getattr(grade, name)) for name in names}
        return told if proven(self.root, instance_id, expected) else GradedTask(None, "grade_not_proven")


def read_gated_run(root: Path) -> GatedRun:
    """Read a run that is over and graded.

    Raises PreflightRefused: `run_not_found`, `run_locked` while a process is at work on it, `run_not_graded`.
    """
    try:
        manifest_bytes = peek(root / MANIFEST_NAME, LARGEST_DOCUMENT)
        manifest = load_object(manifest_bytes)
    except (OSError, ValueError, RecursionError) as error:
        raise PreflightRefused(
            "run_not_found",
            f"there is no run in {str(root)!r}: its {MANIFEST_NAME} cannot be read",
            evidence={"run": str(root), "problem": why(error)[:500]},
        ) from error
    refuse_living(root)
    if _outcome(manifest) == "dry_run":
        raise _not_graded(root, "it was a dry run, in which nothing is solved")
    summary_path = root / GRADE_SUMMARY_NAME
    try:
        summary_bytes = peek(summary_path, LARGEST_DOCUMENT)
        summary = parse_summary(summary_bytes)
    except FileNotFoundError as error:
        raise _not_graded(root, f"it has no {GRADE_SUMMARY_NAME}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _not_graded(root, f"its {GRADE_SUMMARY_NAME} cannot be used: {why(error)[:500]}") from error
    inputs = (
        InputFile("run-manifest", str(root / MANIFEST_NAME), "run_manifest", _sha256(manifest_bytes)),
        InputFile("grade-summary", str(summary_path), "grade_summary", _sha256(summary_bytes)),
    )
    return GatedRun(root, manifest, summary, inputs)


def _not_graded(root: Path, why: str) -> PreflightRefused:
    return PreflightRefused(
        "run_not_graded", f"the run {str(root)!r} has no grades: {why}", evidence={"run": str(root), "why": why}
    )


def _outcome(manifest: dict[str, Any]) -> str:
    extra = manifest.get("extra")
    return str(extra.get("outcome") or "") if isinstance(extra, dict) else ""


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
