"""Grades of recorded and of damaged official results."""

from pathlib import Path
from typing import Any

import pytest

from obo_bench.programbench.evaluation.grading import RecordedEvaluation, grade, grade_file, scoring_plan, ungraded
from obo_bench.programbench.evaluation.official_output import exceptions_told
from obo_bench.programbench.evaluation.verdicts import RULINGS, Blame, Verdict
from tests.eval_samples import (
    BASIC,
    DATA,
    FAIL,
    INSTANCE,
    ONE_BRANCH,
    ONE_IGNORED,
    PASS,
    SAMPLES,
    TWO_BRANCHES,
    UNGRADED,
    document,
    plan_of,
    sample,
)


@pytest.mark.parametrize("name", SAMPLES)
def test_recorded_result_has_its_verdict(name: str) -> None:
    graded, _ = grade_file(sample(name), scoring_plan(plan_of(name)))
    assert (graded.verdict, graded.reason, graded.blame, graded.score) == SAMPLES[name]


def test_every_recorded_result_is_covered() -> None:
    assert {p.name.removesuffix(".eval.json") for p in DATA.glob("*.eval.json")} == set(SAMPLES)


def recorded(**changes: Any) -> RecordedEvaluation:
    return RecordedEvaluation.model_validate(document(**changes))


def test_a_branch_error_outweighs_a_full_score() -> None:
    errors = {"33128f6b8600": [{"error_code": "results_read_failed", "error_details": "gone"}]}
    graded = grade(recorded(test_branch_errors=errors), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.detail) == (UNGRADED, "results_read_failed", "gone")


def test_an_error_of_an_ignored_branch_does_not_count() -> None:
    errors = {"d1d1d1d1d1d1": [{"error_code": "results_read_failed", "error_details": ""}]}
    graded = grade(recorded(test_branch_errors=errors), scoring_plan(ONE_IGNORED))
    assert graded.verdict is PASS


def test_a_branch_that_was_not_run_is_no_pass() -> None:
    graded = grade(recorded(), scoring_plan(TWO_BRANCHES))
    assert (graded.verdict, graded.reason, graded.detail) == (UNGRADED, "incomplete_branches", "d1d1d1d1d1d1")


def test_no_test_at_all_is_no_score() -> None:
    graded = grade(recorded(test_results=[]), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.score) == (UNGRADED, "no_tests_recorded", None)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("results_read_failed", UNGRADED),
        ("compile_failed", UNGRADED),
        ("what", UNGRADED),
        ("missing_from_junit_xml", FAIL),
    ],
)
def test_a_test_that_did_not_run_counts_by_its_cause(code: str, verdict: Verdict) -> None:
    results = [{"name": BASIC[0], "branch": "33128f6b8600", "status": "not_run", "extra": {"error_code": code}}]
    graded = grade(recorded(test_results=results), scoring_plan(ONE_BRANCH))
    assert graded.verdict is verdict


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"surprise": 1}', b'{"error_code": "\xff"}'])
def test_what_the_official_reader_rejects_is_ungraded(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.eval.json"
    path.write_bytes(content)
    graded, digest = grade_file(path, scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.blame) == (UNGRADED, "eval_json_unreadable", Blame.EVALUATOR)
    assert digest


def test_a_missing_file_is_ungraded(tmp_path: Path) -> None:
    graded, digest = grade_file(tmp_path / "x.eval.json", scoring_plan(ONE_BRANCH))
    assert (graded, digest) == (ungraded("eval_json_missing"), "")


TOLD = {
    "engine": ("RuntimeError", "Failed to start container: docker: Cannot connect to the Docker daemon", Blame.HOST),
    "archive": ("RuntimeError", "tar stream into container failed: gzip: stdin: not in gzip format", Blame.UNKNOWN),
    "output": ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xff in position 0", Blame.SUBMISSION),
    "tests": ("FileNotFoundError", "[Errno 2] No such file or directory: 'x.tar.gz'", Blame.HOST),
    "future": ("WarpCoreBreach", "run", Blame.UNKNOWN),
}


@pytest.mark.parametrize("case", TOLD)
def test_an_exception_in_the_official_output_gives_reason_and_blame(tmp_path: Path, case: str) -> None:
    name, message, blame = TOLD[case]
    stdout, stderr = tmp_path / "out", tmp_path / "err"
    stdout.write_text(f"  Evaluation Summary\n {INSTANCE}      0  ERROR: {name}   \n Average  0\n", encoding="utf-8")
    stderr.write_text(f"\rEvaluating: 0%\rError evaluating {INSTANCE}: {message}\nTraceback\n", encoding="utf-8")
    told = exceptions_told(stdout, stderr, [INSTANCE, "other__one.1234567"])
    assert told == {INSTANCE: (name, message)}
    reason = name if name in RULINGS else f"unknown_error_code:{name}"
    assert (ungraded(*told[INSTANCE]).reason, ungraded(*told[INSTANCE]).blame) == (reason, blame)
