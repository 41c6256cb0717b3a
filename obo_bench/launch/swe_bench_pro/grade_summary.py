"""The `grade_summary.json` of SWE-bench Pro results (wire format `ouroboros.swe_bench_pro.grade_summary.v1`).

The headline's denominator is what was submitted: an ungraded instance stays in it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.wire_format import LaterWord, WireModel

PASS, FAIL, UNGRADED = "pass", "fail", "ungraded"


class _Frozen(WireModel):
    model_config = ConfigDict(frozen=True)


class InstanceVerdict(_Frozen):
    """What the official output says of one submitted prediction."""

    instance_id: str
    """The instance."""
    verdict: Literal["pass", "fail", "ungraded"] | LaterWord
    """pass: every required test has the status PASSED; fail: one has not; ungraded: nothing official tells."""
    reason: str | None
    """Why it is ungraded: instance_not_in_dataset, no_official_output, output_unparseable:<type> or no_required_tests;
    null for a verdict."""
    tests: str | None
    """`P/missing/total`: required tests that passed, that the output does not name, and all; null when ungraded."""
    official_output: str | None
    """The file that it rests on; null where there is none."""
    detail: str = ""
    """The reason in words; bounded, foreign text."""
    prefix: str | None = None
    """The prediction's own prefix; null where it has none."""
    patch_sha256: str = ""
    """SHA-256 of the submitted patch."""
    official_output_sha256: str | None = None
    """SHA-256 of the official output; null where it could not be read."""
    official_output_mtime_unix: float | None = None
    """When it was last written, in wall-clock seconds; null likewise."""
    older_than_predictions: bool | None = None
    """Whether it was last written before the predictions: it may be an earlier evaluation's; null without one."""
    conflicting_tests: int = 0
    """Required tests that the output gives several statuses; such a test has passed if PASSED is among them."""


class GradedFile(_Frozen):
    """A file that the summary rests on."""

    path: str
    """Where it was."""
    sha256: str
    """SHA-256 of the bytes that were read."""


class SummaryInputs(_Frozen):
    """What was graded."""

    predictions: GradedFile
    """The submitted predictions."""
    raw_sample: GradedFile
    """The benchmark's raw sample."""
    output_dir: str
    """The official evaluation's output directory; its files are with the verdicts."""


class GradeFigures(_Frozen):
    """The figures; the formats that hold them add the rest."""

    schema_: str = Field(alias="schema")
    """Format name."""
    submitted: int = Field(ge=0)
    """Predictions with a patch that is not blank: the denominator of the headline."""
    passed: int = Field(alias="pass", ge=0)
    """Resolved instances."""
    failed: int = Field(alias="fail", ge=0)
    """Instances that an official output says are not resolved."""
    ungraded: int = Field(ge=0)
    """Instances without an official verdict; they stay in the headline's denominator."""
    headline_raw_pass_at_1_pct: float | None
    """100 * pass / submitted; null when nothing was submitted."""
    diagnostic_pass_over_graded_pct: float | None
    """100 * pass / (pass + fail): good for diagnosis, never for publication; null when nothing was graded."""
    diagnostic_not_leaderboard_valid: Literal[True] = True
    """Said in the file itself."""


class ProGradeSummary(GradeFigures):
    """The grades of the predictions that were submitted to SWE-bench Pro."""

    schema_: Literal["ouroboros.swe_bench_pro.grade_summary.v1"] = Field(
        "ouroboros.swe_bench_pro.grade_summary.v1", alias="schema"
    )
    """Format name."""
    invocation: str = ""
    """The invocation that graded."""
    run_root: str = ""
    """The directory of its record: the manifest there vouches for this file."""
    created_at_unix: float = 0.0
    """When this was written, in wall-clock seconds."""
    inputs: SummaryInputs | None = None
    """What was graded."""
    blank_predictions: list[str] = Field(default_factory=list)
    """Instances whose prediction has a blank patch: not submitted."""
    repeated_predictions: int = 0
    """Predictions that only repeat an earlier one, word for word."""
    verdicts: list[InstanceVerdict]
    """One for each submitted prediction, in their order."""


class GradeAnswer(GradeFigures):
    """What `grade swe-bench-pro` and `grade verify` answer with."""

    schema_: Literal["obo_bench.swe_bench_pro_grade.v1"] = Field("obo_bench.swe_bench_pro_grade.v1", alias="schema")
    """Format name."""
    summary: str
    """The published summary."""
    summary_sha256: str
    """SHA-256 of its bytes."""
    manifest: str
    """The manifest that vouches for it."""
    ungraded_instances: dict[str, str]
    """By instance id: why it has no verdict."""


def figures(verdicts: Sequence[InstanceVerdict]) -> dict[str, int | float | None]:
    """Return the figures, by their names in the formats, from the verdicts of all submitted predictions."""
    counts = {verdict: sum(row.verdict == verdict for row in verdicts) for verdict in (PASS, FAIL, UNGRADED)}
    submitted, passed, failed = len(verdicts), counts[PASS], counts[FAIL]
    return {
        "submitted": submitted,
        PASS: passed,
        FAIL: failed,
        UNGRADED: counts[UNGRADED],
        "headline_raw_pass_at_1_pct": 100 * passed / submitted if submitted else None,
        "diagnostic_pass_over_graded_pct": 100 * passed / (passed + failed) if passed + failed else None,
    }


def grade_answer(summary: ProGradeSummary, path: Path, sha256: str, manifest: Path) -> GradeAnswer:
    """Return what a command answers with."""
    return GradeAnswer(
        **summary.model_dump(by_alias=True, include=set(GradeFigures.model_fields) - {"schema_"}),
        summary=str(path),
        summary_sha256=sha256,
        manifest=str(manifest),
        ungraded_instances={row.instance_id: row.reason for row in summary.verdicts if row.reason is not None},
    )
