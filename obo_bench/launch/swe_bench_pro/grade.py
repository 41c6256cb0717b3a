"""`grade swe-bench-pro`: what the official evaluation left becomes verdicts, a ledger and one summary.

Needs no server and no engine, and spends nothing. Everything but the summary's place is only read.
"""

import platform
import time
from dataclasses import dataclass
from pathlib import Path

from obo_bench import __version__
from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.launch.swe_bench_pro import BENCHMARK, COMMAND
from obo_bench.launch.swe_bench_pro.assessment import Evidence, assess, read_evidence
from obo_bench.launch.swe_bench_pro.grade_summary import FAIL, PASS, InstanceVerdict, ProGradeSummary
from obo_bench.launch.swe_bench_pro.options import GradeOptions
from obo_bench.launch.swe_bench_pro.publication import Publication

_REASONS = {PASS: "required_tests_passed", FAIL: "required_tests_not_passed"}


@dataclass(frozen=True)
class Graded:
    """A summary that is in place."""

    summary: ProGradeSummary
    """What stands in it."""
    path: Path
    """Where it is."""
    sha256: str
    """SHA-256 of its bytes."""


def grade(options: GradeOptions, reporter: Reporter) -> Graded:
    """Grade and publish; the exit status is concluded with the seam.

    Raises the typed refusal of an input that cannot be used, or of a summary that cannot be written. A summary is in
    place only after a return.
    """
    finalization = benchmark_session(admission(options))
    publication = Publication(options.summary)
    try:
        with finalization as session, Showing(session, reporter):
            graded = _body(session, options, publication, reporter)
    except BaseException:
        publication.discard()
        raise
    publication.publish()
    return graded


def admission(options: GradeOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    inputs = options.inputs
    return AdmissionRequest(
        benchmark=BENCHMARK,
        command=COMMAND,
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        input_files={"the predictions": inputs.predictions, "the raw sample": inputs.raw_sample},
        outputs=(options.summary,),
        seed=SeedDemands(gated=False),
        harness={
            "obo_bench": __version__,
            "python": platform.python_version(),
            "predictions": str(inputs.predictions),
            "output_dir": str(inputs.output_dir),
            "raw_sample": str(inputs.raw_sample),
            "summary": str(options.summary),
        },
    )


def _body(session: Session, options: GradeOptions, publication: Publication, reporter: Reporter) -> Graded:
    kept = publication.clear()
    if kept is not None:
        reporter.event(f"the summary that was there is kept as {kept}")
    evidence = read_evidence(options.inputs)
    _requested(session, evidence)
    session.gates_passed()
    identity = {"invocation": session.invocation, "run_root": str(session.run_root), "created_at_unix": time.time()}
    summary = assess(evidence, **identity)
    for verdict in summary.verdicts:
        session.ledger.append(_row(verdict))
    sha256 = publication.stage(session.redactor.document(summary.document()))
    _record(session, summary, publication.place, sha256)
    return Graded(summary, publication.place, sha256)


def _requested(session: Session, evidence: Evidence) -> None:
    manifest, submitted = session.manifest, evidence.predictions.submitted
    manifest.requested_task_ids = [prediction.instance_id for prediction in submitted]
    manifest.requested_count = len(submitted)
    manifest.dataset = f"SWE-bench Pro, raw sample {evidence.raw_sample.sha256}"
    manifest.harness["predictions_sha256"] = evidence.predictions.sha256
    manifest.harness["blank_predictions"] = len(evidence.predictions.blank)
    manifest.harness["repeated_predictions"] = evidence.predictions.repeated


def _row(verdict: InstanceVerdict) -> Row:
    details = verdict.document()
    del details["instance_id"]
    return Row(
        benchmark=BENCHMARK,
        instance_id=verdict.instance_id,
        status="completed" if verdict.reason is None else "failed",
        reason_code=verdict.reason or _REASONS[verdict.verdict],
        prediction_written=True,
        official_eval_status=verdict.verdict,
        error=verdict.detail,
        details={"official_evaluation": details},
        submission_sha256=verdict.patch_sha256,
    )


def _record(session: Session, summary: ProGradeSummary, place: Path, sha256: str) -> None:
    """Put the result into the manifest, and conclude: 0 when every submission has its verdict, else 6."""
    totals = summary.document()
    del totals["verdicts"]
    manifest, extra = session.manifest, session.manifest.extra
    manifest.output_paths["grade_summary"] = str(place)
    extra.grades = {"file": str(place), "sha256": sha256, **totals}
    extra.completed_count = summary.passed + summary.failed
    extra.failed_count = summary.ungraded
    extra.official_eval_status = "error" if summary.ungraded else "completed"
    if summary.ungraded:
        session.conclude("official_eval_error", ExitCode.EVALUATION)
