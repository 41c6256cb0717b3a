"""Our scores against the official package's own functions, on the recorded results and on generated ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from obo_bench.programbench.evaluation.grade_summary import (
    FIXTURE_PREFIX,
    NEAR_RESOLVED,
    InstanceGrade,
    build_grade_summary,
)
from obo_bench.programbench.evaluation.grading import (
    Grade,
    RecordedBranchError,
    RecordedEvaluation,
    RecordedTest,
    grade,
    grade_file,
    scoring_plan,
)
from obo_bench.programbench.evaluation.verdicts import RULINGS
from tests.eval_samples import ONE_BRANCH, ONE_IGNORED, PASS, SAMPLES, TWO_BRANCHES, UNGRADED, sample

BRANCHES = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"]
NAMES = ["test_a", "test_b", "test_c", "tests.deep/odd name.test_d"]
CODES = [*RULINGS, "never_heard_of"]
BUILDS = {"compile_failed", "copy_executable_failed", "hash_executable_failed"}

branch_plan = st.fixed_dictionaries(
    {
        "ignored": st.booleans(),
        "tests": st.lists(st.sampled_from(NAMES), unique=True),
        "ignored_tests": st.none() | st.lists(st.fixed_dictionaries({"name": st.sampled_from(NAMES)}), max_size=2),
    }
)
tests_json = st.fixed_dictionaries({"branches": st.dictionaries(st.sampled_from(BRANCHES), branch_plan, max_size=3)})
test_result = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "branch": st.sampled_from([*BRANCHES, ""]),
        "status": st.sampled_from(["passed", "passed", "skipped", "failure", "error", "system_error", "not_run"]),
        "extra": st.just({}) | st.fixed_dictionaries({"error_code": st.sampled_from(CODES)}),
    }
)
branch_error = st.fixed_dictionaries({"error_code": st.sampled_from(CODES), "error_details": st.text(max_size=5)})
eval_json = st.fixed_dictionaries(
    {
        "test_results": st.lists(test_result, max_size=12),
        "error_code": st.none() | st.sampled_from(CODES),
        "error_details": st.none() | st.text(max_size=5),
        "test_branches": st.lists(st.sampled_from(BRANCHES), unique=True),
        "test_branch_errors": st.dictionaries(
            st.sampled_from(BRANCHES), st.lists(branch_error, max_size=2), max_size=2
        ),
    }
)


def official_figures(content: str, tests: dict[str, Any]) -> tuple[float, int, int]:
    """Return score, passed and counted tests as `programbench info` has them."""
    from programbench.eval.eval import EvaluationResult
    from programbench.utils.load_data import get_active_branches, get_ignored_tests

    result = EvaluationResult.model_validate_json(content)
    result = result.for_branches(get_active_branches(tests)).without_ignored(get_ignored_tests(tests))
    return result.score, result.n_resolved, len(result)


def our_figures(graded: Grade) -> tuple[float | None, int, int]:
    passed = graded.passed or 0
    return graded.official_score, passed, passed + (graded.failed or 0) + (graded.not_run or 0)


@pytest.mark.parametrize("tests", [ONE_BRANCH, TWO_BRANCHES, ONE_IGNORED, {"branches": {}}, {}])
@pytest.mark.parametrize("name", SAMPLES)
def test_figures_of_a_record_are_the_official_ones(name: str, tests: dict[str, Any]) -> None:
    from programbench.submission import score_instance

    graded, _ = grade_file(sample(name), scoring_plan(tests))
    assert our_figures(graded) == official_figures(sample(name).read_text(encoding="utf-8"), tests)
    assert graded.packaged_score == score_instance(sample(name), tests)


@settings(max_examples=400, deadline=None)
@given(recorded=eval_json, tests=tests_json)
def test_figures_of_any_result_are_the_official_ones(
    tmp_path_factory: pytest.TempPathFactory, recorded: dict[str, Any], tests: dict[str, Any]
) -> None:
    from programbench.submission import score_instance

    path = tmp_path_factory.getbasetemp() / "generated.eval.json"
    path.write_text(json.dumps(recorded), encoding="utf-8")
    graded, digest = grade_file(path, scoring_plan(tests))
    official = official_figures(path.read_text(encoding="utf-8"), tests)
    assert digest
    assert our_figures(graded) == official
    assert graded.packaged_score == score_instance(path, tests)
    assert graded.score in (None, official[0])
    assert (graded.score is None) == (graded.verdict is UNGRADED)
    assert (graded.verdict is PASS) <= (official[0] == 1.0)
    assert graded.reason in RULINGS or graded.reason.startswith("unknown_error_code:")


@settings(max_examples=400, deadline=None)
@given(recorded=eval_json, tests=tests_json)
def test_no_fault_of_the_evaluation_ever_becomes_a_score(recorded: dict[str, Any], tests: dict[str, Any]) -> None:
    graded = grade(RecordedEvaluation.model_validate(recorded), scoring_plan(tests))
    active = {branch for branch, plan in tests["branches"].items() if not plan["ignored"]}
    code = recorded["error_code"]
    broken = any(recorded["test_branch_errors"].get(branch) for branch in active)
    unfinished = not active <= set(recorded["test_branches"])
    if code is not None:
        assert (graded.verdict is UNGRADED) == (code not in BUILDS)
    elif broken or unfinished:
        assert (graded.verdict, graded.score) == (UNGRADED, None)


def test_tests_of_one_name_count_once_in_a_package_and_each_in_the_table(tmp_path: Path) -> None:
    from programbench.submission import score_instance

    def result(status: str) -> dict[str, Any]:
        return {"name": "test_a", "branch": BRANCHES[0], "status": status, "extra": {}}

    tests = {"branches": {BRANCHES[0]: {"tests": ["test_a"]}}}
    results = [result("failure"), result("passed")]
    path = tmp_path / "x.eval.json"
    path.write_text(json.dumps({"test_results": results, "test_branches": [BRANCHES[0]]}), encoding="utf-8")
    graded, _ = grade_file(path, scoring_plan(tests))
    assert (graded.score, graded.packaged_score, score_instance(path, tests)) == (0.5, 1.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 0.9499, 0.95, 0.9999, 1.0]), min_size=1, max_size=8),
    missing=st.integers(0, 5),
)
def test_the_headline_is_the_official_one(scores: list[float], missing: int) -> None:
    from programbench.submission import FIXTURE_PREFIX as OFFICIAL_PREFIX
    from programbench.submission import NEAR_RESOLVED_THRESHOLD, aggregate

    by_id = {f"a__b.{number:07d}": score for number, score in enumerate(scores)}
    grades = {iid: Grade(PASS, "", None, score, score, score) for iid, score in by_id.items()}
    fixture = f"{FIXTURE_PREFIX}x.0000000"
    summary = build_grade_summary(
        invocation="i",
        created_at_unix=0.0,
        evaluation_status="completed",
        evaluator_version="1",
        benchmark_ids=[*by_id, fixture, *(f"never__came.{number:07d}" for number in range(missing))],
        grades=grades | {fixture: Grade(PASS, "", None, 1.0, 1.0, 1.0)},
        instances=dict[str, InstanceGrade](),
    )
    total = len(scores) + missing
    official = aggregate(by_id, total)
    assert round(summary.official_mean_over_benchmark or 0.0, 4) == official.mean_score
    assert summary.official_benchmark_size == official.n_instances_total
    assert round(100 * (summary.resolved - 1) / total, 1) == official.resolved_pct
    assert round(100 * ((summary.near_resolved or 0) - 1) / total, 1) == official.near_resolved_pct
    assert (NEAR_RESOLVED, FIXTURE_PREFIX) == (NEAR_RESOLVED_THRESHOLD, OFFICIAL_PREFIX)


def test_the_mean_over_listed_is_that_of_the_official_table() -> None:
    from programbench.eval.eval_batch import BatchEvalSummary, InstanceEvalSummary

    scores = [0.25, 1.0, 1 / 3]
    table = [InstanceEvalSummary(instance_id=str(s), score=s, n_resolved=0, n_tests=0) for s in scores]
    summary = build_grade_summary(
        invocation="i",
        created_at_unix=0.0,
        evaluation_status="completed",
        evaluator_version="1",
        benchmark_ids=[],
        grades={str(s): Grade(PASS, "", None, s, s, s) for s in scores},
        instances=dict[str, InstanceGrade](),
    )
    assert summary.official_mean_over_listed == BatchEvalSummary(summaries=table).average_pass_rate


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
