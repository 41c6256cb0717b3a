"""Grades of recorded official results, held against the official package's own functions."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from obo_bench.programbench.evaluation.evaluation_cases import Case
from obo_bench.programbench.evaluation.grade_summary import build_grade_summary, write_grade_summary
from obo_bench.programbench.evaluation.grading import (
    Grade,
    RecordedBranchError,
    RecordedEvaluation,
    RecordedTest,
    grade,
    grade_file,
    scoring_plan,
    ungraded,
)
from obo_bench.programbench.evaluation.official_output import exceptions_told
from obo_bench.programbench.evaluation.verdicts import RULINGS, Blame, Verdict, ruling_for

DATA = Path(__file__).parent / "data" / "eval"
INSTANCE = "testorg__calculator.abc1234"

BASIC = [f"tests.test_calculator.test_{name}" for name in ("addition", "subtraction", "multiplication")]
DIVISION = [
    f"tests.test_division.test_{name}"
    for name in ("quotient", "remainder", "division_by_zero", "bad_call", "always_fails")
]
ONE_BRANCH: dict[str, Any] = {"branches": {"33128f6b8600": {"ignored": False, "tests": BASIC, "ignored_tests": []}}}
TWO_BRANCHES: dict[str, Any] = {
    "branches": {
        **ONE_BRANCH["branches"],
        "d1d1d1d1d1d1": {"ignored": False, "tests": DIVISION, "ignored_tests": [{"name": DIVISION[-1]}]},
    }
}
ONE_IGNORED: dict[str, Any] = {
    "branches": {**ONE_BRANCH["branches"], "d1d1d1d1d1d1": {"ignored": True, "tests": DIVISION}}
}

FAIL, PASS, UNGRADED = Verdict.FAIL, Verdict.PASS, Verdict.UNGRADED
SAMPLES = {
    "correct": (PASS, "all_tests_passed", None, 1.0),
    "two-branches": (PASS, "all_tests_passed", None, 1.0),
    "incorrect": (FAIL, "tests_failed", Blame.SUBMISSION, 1 / 3),
    "shipped-tests-unchanged": (FAIL, "missing_from_junit_xml", Blame.UNKNOWN, 0.5),
    "compile-failed": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "compile-missing": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "compile-timeout": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "original-binary-reused": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "executable-missing": (FAIL, "copy_executable_failed", Blame.SUBMISSION, 0.0),
    "executable-relative-symlink": (FAIL, "hash_executable_failed", Blame.SUBMISSION, 0.0),
    "interrupted-group": (FAIL, "copy_executable_failed", Blame.SUBMISSION, 0.0),
    "owner-not-root-no-git": (UNGRADED, "seed_git_failed", Blame.UNKNOWN, None),
    "results-missing": (UNGRADED, "results_read_failed", Blame.UNKNOWN, None),
}
"""What the files say by themselves; that the interrupted one is not to be believed is the evaluator's business."""


def plan_for(sample: str) -> dict[str, Any]:
    return TWO_BRANCHES if sample == "two-branches" else ONE_BRANCH


@pytest.mark.parametrize("sample", SAMPLES)
def test_recorded_result_has_its_verdict(sample: str) -> None:
    graded, _ = grade_file(DATA / f"{sample}.eval.json", scoring_plan(plan_for(sample)))
    assert (graded.verdict, graded.reason, graded.blame, graded.score) == SAMPLES[sample]


def test_every_recorded_result_is_covered() -> None:
    assert {p.name.removesuffix(".eval.json") for p in DATA.glob("*.eval.json")} == set(SAMPLES)


@pytest.mark.parametrize("tests", [ONE_BRANCH, TWO_BRANCHES, ONE_IGNORED])
@pytest.mark.parametrize("sample", SAMPLES)
def test_score_and_counts_are_the_official_ones(sample: str, tests: dict[str, Any]) -> None:
    from programbench.eval.eval import EvaluationResult
    from programbench.utils.load_data import get_active_branches, get_ignored_tests

    path = DATA / f"{sample}.eval.json"
    official = EvaluationResult.model_validate_json(path.read_text(encoding="utf-8"))
    official = official.for_branches(get_active_branches(tests)).without_ignored(get_ignored_tests(tests))
    ours, _ = grade_file(path, scoring_plan(tests))
    assert ours.official_score == official.score
    assert ours.passed == official.n_resolved
    assert (ours.passed or 0) + (ours.failed or 0) + (ours.not_run or 0) == len(official)
    assert (ours.verdict is PASS) <= (official.score == 1.0)


def test_the_wire_models_are_those_of_the_package() -> None:
    from programbench.eval.eval import EvaluationResult, TestBranchError, TestResult

    pairs: list[tuple[type[BaseModel], type[BaseModel]]] = [
        (RecordedEvaluation, EvaluationResult),
        (RecordedTest, TestResult),
        (RecordedBranchError, TestBranchError),
    ]
    for ours, theirs in pairs:
        assert set(ours.model_fields) == set(theirs.model_fields)
        assert ours.model_config.get("extra") == theirs.model_config.get("extra")
    status = RecordedTest.model_fields["status"].annotation
    assert status == TestResult.model_fields["status"].annotation


def test_the_table_knows_every_code_of_the_package() -> None:
    import programbench.eval.eval as official

    source = Path(official.__file__).read_text(encoding="utf-8")
    steps = re.findall(r'step_name="(\w+)",\n(\s+accept_failure=True)?', source)
    codes = {f"{step}_failed" for step, accepted in steps if not accepted}
    codes |= set(re.findall(r'EvalStepError\(\s*"(\w+)"', source))
    codes |= set(re.findall(r'_add_branch_error\(branch, "(\w+)"', source))
    codes |= set(re.findall(r'"error_code": "(\w+)"', source))
    assert {"compile_failed", "results_read_failed", "executable_hash_mismatch"} <= codes
    assert codes <= set(RULINGS)


def document(**changes: Any) -> RecordedEvaluation:
    recorded = json.loads((DATA / "correct.eval.json").read_text(encoding="utf-8"))
    return RecordedEvaluation.model_validate(recorded | changes)


def test_an_unknown_code_is_ungraded_under_its_name() -> None:
    graded = grade(document(error_code="moon_phase_failed\x1b[2J"), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.score) == (UNGRADED, None)
    assert graded.reason == "unknown_error_code:moon_phase_failed?[2J"


def test_a_branch_error_outweighs_a_full_score() -> None:
    errors = {"33128f6b8600": [{"error_code": "results_read_failed", "error_details": "gone"}]}
    graded = grade(document(test_branch_errors=errors), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.detail) == (UNGRADED, "results_read_failed", "gone")


def test_an_error_of_an_ignored_branch_does_not_count() -> None:
    errors = {"d1d1d1d1d1d1": [{"error_code": "results_read_failed", "error_details": ""}]}
    graded = grade(document(test_branch_errors=errors), scoring_plan(ONE_IGNORED))
    assert graded.verdict is PASS


def test_a_branch_that_was_not_run_is_no_pass() -> None:
    graded = grade(document(), scoring_plan(TWO_BRANCHES))
    assert (graded.verdict, graded.reason, graded.detail) == (UNGRADED, "incomplete_branches", "d1d1d1d1d1d1")


def test_no_test_at_all_is_no_score() -> None:
    graded = grade(document(test_results=[]), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.score) == (UNGRADED, "no_tests_recorded", None)


@pytest.mark.parametrize(
    ("code", "verdict"), [("results_read_failed", UNGRADED), ("what", UNGRADED), ("missing_from_junit_xml", FAIL)]
)
def test_a_test_that_did_not_run_counts_by_its_cause(code: str, verdict: Verdict) -> None:
    results = [{"name": BASIC[0], "branch": "33128f6b8600", "status": "not_run", "extra": {"error_code": code}}]
    graded = grade(document(test_results=results), scoring_plan(ONE_BRANCH))
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


def test_only_a_full_official_score_passes() -> None:
    assert {code for code, ruling in RULINGS.items() if ruling.verdict is PASS} == {"all_tests_passed"}
    assert ruling_for("compile_failed")[1].verdict is FAIL


def summary_of_three() -> dict[str, Grade]:
    plan = scoring_plan(ONE_BRANCH)
    names = {"a__solved.0000001": "correct", "b__third.0000002": "incorrect", INSTANCE: "correct"}
    grades = {iid: grade_file(DATA / f"{name}.eval.json", plan)[0] for iid, name in names.items()}
    grades["c__broken.0000003"] = grade_file(DATA / "owner-not-root-no-git.eval.json", plan)[0]
    grades["d__absent.0000004"] = ungraded("no_submission")
    return grades


def test_the_summary_is_the_recorded_document(tmp_path: Path) -> None:
    from programbench.submission import aggregate

    grades = summary_of_three()
    cases = [Case(iid, None if iid.startswith("d__") else "ab" * 32, grade=g) for iid, g in grades.items()]
    benchmark = [*grades, *(f"e__other.{number:07d}" for number in range(10))]
    summary = build_grade_summary(
        invocation="inv-1",
        created_at_unix=1.5,
        evaluation_status="completed",
        evaluator_version="1.2.5",
        benchmark_ids=benchmark,
        grades=grades,
        instances={case.instance_id: case.row(str) for case in cases},
    )
    scores = {i: g.official_score for i, g in grades.items() if g.official_score is not None and i != INSTANCE}
    assert round(summary.official_mean_over_benchmark or 0, 4) == aggregate(scores, len(benchmark) - 1).mean_score
    written = write_grade_summary(tmp_path, summary)
    assert written.read_bytes() == (DATA / "grade_summary.golden.json").read_bytes()
