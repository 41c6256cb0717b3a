"""The table of all recorded cases: no fault is a failure, every official verdict is kept, no stale file is graded."""

import pytest

from obo_bench.programbench.evaluation.grade_summary import InstanceGrade
from obo_bench.programbench.evaluation.verdicts import RULINGS
from tests.eval_samples import FAIL, PASS, SAMPLES, UNGRADED
from tests.graded_cases.cases import CASES, GradedCase
from tests.graded_cases.evaluating import Rows
from tests.graded_cases.replay import replay
from tests.graded_cases.table import table

NOT_REPRODUCED = {"compile-timeout", "bad-filter", "bad-slice"}
"""It takes a quarter of an hour; and we never give the evaluator such a filter or slice."""
REPRODUCED = [case for case in CASES if case.name not in NOT_REPRODUCED]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return replay(tmp_path_factory.mktemp("replayed"))


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    from tests.graded_cases.reproduce import reproduce

    return reproduce(tmp_path_factory.mktemp("reproduced"))


def check(case: GradedCase, row: InstanceGrade) -> None:
    assert (row.verdict, row.reason, row.blame) == (case.verdict, case.reason, case.blame)
    assert (row.official_score is not None) == case.official, "an official verdict is kept, another one is not"
    assert row.score == (None if case.verdict == UNGRADED else row.official_score)
    assert (row.score == 1.0) == (case.verdict == PASS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_replayed_case_has_its_verdict(case: GradedCase, replayed: Rows) -> None:
    row = replayed[case.instance_id]
    check(case, row)
    if case.official:
        assert row.score == SAMPLES[case.name][3], "the score of the record"


@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name not in NOT_REPRODUCED], ids=lambda case: case.name
)
def test_a_case_on_the_engine_has_its_verdict(case: GradedCase, reproduced: Rows) -> None:
    check(case, reproduced[case.instance_id])


def test_the_table_fails_nothing_without_an_official_verdict_of_the_submission() -> None:
    failed = {case.reason for case in CASES if case.verdict == FAIL}
    assert failed == {reason for reason, ruling in RULINGS.items() if ruling.verdict is FAIL}
    assert all(case.official for case in CASES if case.verdict in (PASS, FAIL))
    assert all(case.blame for case in CASES if case.verdict != PASS)


def test_the_table_shows_every_case_and_how_it_came_about(replayed: Rows) -> None:
    lines = table(replayed, [CASES[0].instance_id]).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [case.name for case in CASES]
    assert [line.split()[-1] for line in lines[1:]] == ["reproduced"] + ["replayed"] * (len(CASES) - 1)


def test_an_archive_whose_evaluation_was_killed_is_evaluated_a_second_time(replayed: Rows) -> None:
    attempts = {case.name: replayed[case.instance_id].attempts for case in CASES}
    asked_twice, never_asked = {"killed-then-rerun"}, {"corrupt-archive", "empty-directory"}
    assert {name for name, number in attempts.items() if number == 2} == asked_twice
    assert {name for name, number in attempts.items() if number == 0} == never_asked
