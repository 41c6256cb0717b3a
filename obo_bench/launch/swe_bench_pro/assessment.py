"""Grades predictions from what the official evaluation left: only reads, so that it can be repeated at any time."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.swe_bench_pro.grade_summary import (
    FAIL,
    PASS,
    UNGRADED,
    GradedFile,
    InstanceVerdict,
    ProGradeSummary,
    SummaryInputs,
    figures,
)
from obo_bench.launch.swe_bench_pro.official_output import PASSED, OfficialOutput, read_official_output
from obo_bench.launch.swe_bench_pro.options import GradeInputs
from obo_bench.launch.swe_bench_pro.predictions import Prediction, Predictions, read_predictions
from obo_bench.launch.swe_bench_pro.raw_sample import RawSample, RequiredTests, read_raw_sample


@dataclass(frozen=True)
class Evidence:
    """What was submitted, and what the data set asks of it."""

    inputs: GradeInputs
    """Where it was read."""
    predictions: Predictions
    """What was submitted."""
    raw_sample: RawSample
    """What it must pass."""


def read_evidence(inputs: GradeInputs) -> Evidence:
    """Read what decides about all instances at once.

    Raises PreflightRefused: `predictions_unreadable`, `raw_sample_unreadable`, `official_results_unreadable`.
    """
    predictions = read_predictions(inputs.predictions)
    raw_sample = read_raw_sample(inputs.raw_sample, {each.instance_id for each in predictions.submitted})
    try:
        os.close(os.open(inputs.output_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        raise PreflightRefused(
            "official_results_unreadable",
            f"--output-dir {str(inputs.output_dir)!r} is no directory that can be read: {error.strerror or error}",
            evidence={"output_dir": str(inputs.output_dir), "problem": error.strerror or str(error)},
        ) from error
    return Evidence(inputs, predictions, raw_sample)


def assess(evidence: Evidence, **identity: Any) -> ProGradeSummary:
    """Grade every submitted prediction; `identity` are the fields that tell whose summary it is."""
    predictions, inputs = evidence.predictions, evidence.inputs
    verdicts = [_assessed(evidence, prediction) for prediction in predictions.submitted]
    return ProGradeSummary(
        **figures(verdicts),
        **identity,
        inputs=SummaryInputs(
            predictions=_graded_file(inputs.predictions, predictions.sha256),
            raw_sample=_graded_file(inputs.raw_sample, evidence.raw_sample.sha256),
            output_dir=str(inputs.output_dir),
        ),
        blank_predictions=list(predictions.blank),
        repeated_predictions=predictions.repeated,
        verdicts=verdicts,
    )


def judge(required: RequiredTests | None, output: OfficialOutput) -> tuple[str, str | None, str, str | None]:
    """Return verdict, reason, its words, and the counted tests of one prediction.

    Resolved is what the official evaluation calls so: every name of both lists is among those with status PASSED.
    `required` is None for what the data set does not have.
    """
    if required is None:
        return UNGRADED, "instance_not_in_dataset", "", None
    if output.reason:
        return UNGRADED, output.reason, output.detail, None
    if not required.names:
        return UNGRADED, "no_required_tests", required.problem, None
    passed = sum(PASSED in output.statuses.get(name, ()) for name in required.names)
    missing = sum(name not in output.statuses for name in required.names)
    verdict = PASS if passed == len(required.names) else FAIL
    return verdict, None, "", f"{passed}/{missing}/{len(required.names)}"


def _assessed(evidence: Evidence, prediction: Prediction) -> InstanceVerdict:
    required = evidence.raw_sample.required.get(prediction.instance_id)
    output = read_official_output(evidence.inputs.output_dir, prediction.instance_id, prediction.prefix)
    verdict, reason, detail, tests = judge(required, output)
    names = required.names if required is not None else frozenset[str]()
    return InstanceVerdict(
        instance_id=prediction.instance_id,
        verdict=verdict,
        reason=reason,
        tests=tests,
        official_output=output.path,
        detail=detail,
        prefix=prediction.prefix,
        patch_sha256=prediction.patch_sha256,
        official_output_sha256=output.sha256,
        official_output_mtime_unix=output.mtime_unix,
        older_than_predictions=_older(output.mtime_unix, evidence.predictions.mtime_unix),
        conflicting_tests=sum(len(output.statuses.get(name, ())) > 1 for name in names),
    )


def _older(output: float | None, predictions: float) -> bool | None:
    return None if output is None else output < predictions


def _graded_file(path: Path, sha256: str) -> GradedFile:
    return GradedFile(path=str(path), sha256=sha256)
