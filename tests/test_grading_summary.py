"""The grade summary: its counts, the official headline beside them, and how it is shown and recorded."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from obo_bench.cli.grade_table import grade_lines
from obo_bench.core.files import sha256_file
from obo_bench.programbench.answers import grade_answer
from obo_bench.programbench.evaluation.evaluation_cases import Case
from obo_bench.programbench.evaluation.grade_summary import GradeSummary, build_grade_summary, write_grade_summary
from obo_bench.programbench.evaluation.graded_rows import grade_totals
from obo_bench.programbench.evaluation.grading import Grade, grade_file, scoring_plan, ungraded
from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.programbench.evaluation.verdicts import Blame
from tests.eval_samples import DATA, INSTANCE, ONE_BRANCH, sample

SOLVED, THIRD, BROKEN, ABSENT = "a__solved.0000001", "b__third.0000002", "c__broken.0000003", "d__absent.0000004"


def grades_of_five() -> dict[str, Grade]:
    plan = scoring_plan(ONE_BRANCH)
    names = {SOLVED: "correct", THIRD: "incorrect", INSTANCE: "correct", BROKEN: "owner-not-root-no-git"}
    grades = {iid: grade_file(sample(name), plan)[0] for iid, name in names.items()}
    return grades | {ABSENT: ungraded("no_submission")}


def account(status: str = "completed", reason_code: str = "submission_prepared", **changes: object) -> InstanceAccount:
    fields: dict[str, object] = {
        "status": status,
        "reason_code": reason_code,
        "infrastructure": False,
        "degraded": False,
        "solve_attempts": 1,
        "repeats_after_infrastructure": 0,
        "repeats_asked_for": 0,
        "repeats_undeclared": 0,
        "known_usd": 0.25,
        "unknown_costs": 0,
        "lower_bound": False,
    }
    return InstanceAccount.model_validate(fields | changes)


ACCOUNTS = {
    SOLVED: account(solve_attempts=3, repeats_asked_for=1, repeats_undeclared=1, known_usd=1.5),
    THIRD: account(degraded=True),
    BROKEN: account(),
    INSTANCE: account(solve_attempts=2, repeats_after_infrastructure=1, unknown_costs=1, lower_bound=True),
    ABSENT: account("failed", "task_not_completed"),
}


def summary_of_five(accounts: Mapping[str, InstanceAccount] | None = ACCOUNTS) -> GradeSummary:
    grades = grades_of_five()
    cases = [Case(iid, None if iid == ABSENT else "ab" * 32, grade=g) for iid, g in grades.items()]
    return build_grade_summary(
        invocation="inv-1",
        created_at_unix=1.5,
        evaluation_status="completed",
        evaluator_version="1.2.5",
        benchmark_ids=[*grades, *(f"e__other.{number:07d}" for number in range(10))],
        grades=grades,
        instances={case.instance_id: case.row(str) for case in cases},
        accounts=accounts,
    )


def test_the_summary_is_the_recorded_document(tmp_path: Path) -> None:
    written = write_grade_summary(tmp_path, summary_of_five())
    assert written.read_bytes() == (DATA / "grade_summary.golden.json").read_bytes()


def test_an_ungraded_instance_keeps_its_official_number_beside_it() -> None:
    row = summary_of_five().instances[BROKEN]
    assert (row.verdict, row.score, row.official_score) == ("ungraded", None, 0.0)


def test_a_final_success_does_not_hide_the_attempts_before_it() -> None:
    totals = summary_of_five().solves
    assert totals is not None
    assert (totals.attempts, totals.instances_with_several_attempts, totals.degraded) == (8, 2, 1)
    assert (totals.repeats_after_infrastructure, totals.repeats_asked_for, totals.repeats_undeclared) == (1, 1, 1)
    assert (totals.known_usd, totals.unknown_costs, totals.lower_bound) == (2.5, 1, True)


def test_without_a_ledger_attempts_and_cost_are_unknown_and_not_nothing() -> None:
    summary = summary_of_five(None)
    assert summary.solves is None
    assert all(row.account is None for row in summary.instances.values())
    assert "no ledger tells attempts and cost" in "\n".join(grade_lines(summary))


@pytest.mark.parametrize(
    ("status", "reason", "infrastructure", "blame"),
    [
        ("failed", "task_not_completed", False, Blame.SUBMISSION),
        ("failed", "executor_lost", True, Blame.HOST),
        ("blocked", "image_pull_failed", True, Blame.HOST),
        ("not_attempted", "stopped_budget", False, Blame.UNKNOWN),
    ],
)
def test_why_there_is_no_submission_is_told(status: str, reason: str, infrastructure: bool, blame: Blame) -> None:
    told = account(status, reason, infrastructure=infrastructure)
    row = summary_of_five(ACCOUNTS | {ABSENT: told}).instances[ABSENT]
    assert (row.verdict, row.reason, row.detail, row.blame) == ("ungraded", "no_submission", reason, blame)


REPEATS = "2 instance(s) with several: 1 after infrastructure failures, 1 asked for, 1 UNDECLARED"


def test_the_table_shows_both_denominators_and_labels_the_shrunken_one() -> None:
    lines = "\n".join(grade_lines(summary_of_five()))
    assert lines.splitlines() == [
        "official evaluation: completed (programbench 1.2.5)",
        "  requested                          5",
        "  submitted                          4",
        "  pass                               2",
        "  fail                               1  tests_failed 1",
        "  ungraded                           2  seed_git_failed 1, no_submission (task_not_completed) 1",
        "  official mean over listed     0.5833  4 listed",
        "  official mean over benchmark  0.0952  14 instances",
        "  resolved                           2  official score of exactly 1",
        "  near-resolved                      2  official score of at least 0.95",
        "  mean over graded              0.7778  over 3 graded: diagnostic, not leaderboard-valid",
        f"  solve attempts                     8  {REPEATS}",
        "  solve cost                    2.5000  USD at least, all attempts, unknown for 1 attempt(s)",
        "  degraded                           1  submissions of solves that were not clean",
    ]


def test_foreign_text_in_the_table_is_bounded_and_harmless() -> None:
    nasty = account("failed", "\x1b[2J" + "x" * 5000)
    lines = grade_lines(summary_of_five(ACCOUNTS | {ABSENT: nasty}))
    assert all(line.isprintable() and len(line) < 300 for line in lines)


def test_many_reasons_do_not_flood_the_table() -> None:
    row = summary_of_five().instances[ABSENT]
    many = {f"x__y.{n:07d}": row.model_copy(update={"reason": f"reason_{n}"}) for n in range(40)}
    lines = grade_lines(summary_of_five().model_copy(update={"instances": many}))
    assert any(line.endswith(", 34 more reason(s)") for line in lines)


def test_the_manifest_carries_the_totals_and_the_hash_of_the_file(tmp_path: Path) -> None:
    summary = summary_of_five()
    written = write_grade_summary(tmp_path, summary)
    totals = grade_totals(tmp_path, summary)
    document = json.loads(written.read_text(encoding="utf-8"))
    del document["instances"]
    assert totals == {"file": "grade_summary.json", "sha256": sha256_file(written), **document}


def test_the_answer_for_scripts_has_a_score_or_null_for_every_instance() -> None:
    answer = grade_answer(summary_of_five()).document()
    assert answer["scores"] == {SOLVED: 1.0, THIRD: 1 / 3, INSTANCE: 1.0, BROKEN: None, ABSENT: None}
    assert (answer["pass"], answer["fail"], answer["ungraded"], answer["requested"]) == (2, 1, 2, 5)
    assert answer["shrunken_denominator"]["diagnostic_not_leaderboard_valid"] is True


def test_a_grade_of_a_second_evaluation_is_told() -> None:
    summary = summary_of_five()
    again = {SOLVED: summary.instances[SOLVED].model_copy(update={"attempts": 2})}
    lines = grade_lines(summary.model_copy(update={"instances": summary.instances | again}))
    assert (
        "  evaluated again                    1  submissions that were given to the evaluator more than once" in lines
    )
