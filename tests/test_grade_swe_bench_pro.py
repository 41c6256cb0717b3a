"""Official SWE-bench Pro results become verdicts, and the headline keeps its denominator."""

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obo_bench.launch.swe_bench_pro.assessment import judge
from obo_bench.launch.swe_bench_pro.grade_summary import InstanceVerdict, figures
from obo_bench.launch.swe_bench_pro.official_output import OfficialOutput
from obo_bench.launch.swe_bench_pro.raw_sample import RequiredTests
from obo_bench.report.document.build import build_report
from tests.answer_check import validator
from tests.conftest import obo
from tests.pro_results import ProResults, three_states

FACTS = [
    "submitted", "pass", "fail", "ungraded", "headline_raw_pass_at_1_pct", "diagnostic_pass_over_graded_pct",
    "diagnostic_not_leaderboard_valid",
]  # fmt: skip


def test_a_tree_is_graded_into_all_three_states_with_every_reason(tmp_path: Path) -> None:
    tree = three_states(tmp_path)
    tree.write()
    done = tree.grade(run=obo)
    assert done.status == 6, done.stderr
    document = tree.document()
    validator("ouroboros.swe_bench_pro.grade_summary.v1").validate(document)
    told = {row["instance_id"]: (row["verdict"], row["reason"], row["tests"]) for row in document["verdicts"]}
    assert told == {
        "passes": ("pass", None, "2/0/2"),
        "fails": ("fail", None, "1/1/3"),
        "stranger": ("ungraded", "instance_not_in_dataset", None),
        "unscored": ("ungraded", "no_official_output", None),
        "torn": ("ungraded", "output_unparseable:JSONDecodeError", None),
        "shapeless": ("ungraded", "output_unparseable:TypeError", None),
        "toothless": ("ungraded", "no_required_tests", None),
    }
    assert [document[name] for name in FACTS] == [7, 1, 1, 5, 100 / 7, 50.0, True]
    assert document["blank_predictions"] == ["blank"]
    assert document["verdicts"][0]["official_output"] == str(tree.place("passes"))


def test_the_record_tells_the_same(tmp_path: Path) -> None:
    tree = three_states(tmp_path)
    tree.write()
    done = tree.grade("--run-id", "r")
    manifest, submitted = done.manifest, [row["instance_id"] for row in tree.document()["verdicts"]]
    assert manifest["run_root"] == str(tmp_path / "runs" / "grade" / "r")
    assert (manifest["benchmark"], manifest["command"]) == ("swe-bench-pro", "grade swe-bench-pro")
    assert (manifest["requested_task_ids"], manifest["requested_count"]) == (submitted, 7)
    assert (manifest["extra"]["outcome"], manifest["extra"]["official_eval_status"]) == ("official_eval_error", "error")
    assert manifest["output_paths"] == {"grade_summary": str(tree.summary)}
    assert manifest["extra"]["grades"]["sha256"] == done.envelope["result"]["summary_sha256"]
    lines = (Path(manifest["run_root"]) / "result_index.jsonl").read_text().splitlines()
    rows = [(row["instance_id"], row["official_eval_status"], row["reason_code"]) for row in map(json.loads, lines)]
    assert [row[0] for row in rows] == submitted
    assert rows[:3] == [
        ("passes", "pass", "required_tests_passed"),
        ("fails", "fail", "required_tests_not_passed"),
        ("stranger", "ungraded", "instance_not_in_dataset"),
    ]


def test_its_report_tells_verdicts_and_headline_and_nothing_of_a_server(tmp_path: Path) -> None:
    tree = three_states(tmp_path)
    tree.write()
    tree.grade("--run-id", "r")
    report = build_report(tmp_path / "runs" / "grade" / "r")
    assert report.grades is not None
    assert (report.grades.passed, report.grades.failed, report.grades.ungraded) == (1, 1, 5)
    assert [instance.verdict for instance in report.instances] == ["pass", "fail", *["ungraded"] * 5]
    headline = {fact.name: fact.value for fact in report.asked}["Official evaluation"]
    assert headline == "1 of 7 submitted pass: raw pass@1 14.29 %"
    assert [finding.name for finding in report.findings[:2]] == ["Server and checkout", "Ledger"]
    assert report.ending.remedy == "mend what the failures below name, then grade again"
    assert not [failure for failure in report.failures if "server" in failure.remedy or "resume" in failure.remedy]
    assert (report.money.known_usd, report.money.unknown_attempts) == (0, 0)


@pytest.mark.parametrize(("status", "verdict"), [("PASSED", "pass"), ("FAILED", "fail")])
def test_when_all_have_a_verdict_the_status_is_0_whatever_they_are(tmp_path: Path, status: str, verdict: str) -> None:
    tree = ProResults(tmp_path)
    tree.instance("i", {"t": status})
    tree.write()
    done = tree.grade()
    assert (done.status, done.envelope["outcome"], done.envelope["result"][verdict]) == (0, "completed", 1)
    assert done.envelope["result"]["ungraded_instances"] == {}


def test_for_people_the_path_is_on_stdout_and_the_table_on_stderr(tmp_path: Path) -> None:
    tree = three_states(tmp_path)
    tree.write()
    done = obo(*(word for word in tree.arguments() if word != "--json"))
    assert done.stdout == f"{tree.summary}\n"
    for told in ("raw pass@1        14.29 %", "not leaderboard-valid", "torn: output_unparseable:JSONDecodeError"):
        assert told in done.stderr


def test_nothing_submitted_has_no_rate(tmp_path: Path) -> None:
    tree = ProResults(tmp_path)
    tree.predict("i", None)
    tree.require("i", ["t"])
    assert tree.graded() == {}
    document = tree.document()
    assert (document["submitted"], document["headline_raw_pass_at_1_pct"]) == (0, None)


STATES = {
    "pass": (RequiredTests(frozenset("t")), OfficialOutput(statuses={"t": frozenset({"PASSED"})})),
    "fail": (RequiredTests(frozenset("tu")), OfficialOutput(statuses={"t": frozenset({"PASSED"})})),
    "not in data set": (None, OfficialOutput(statuses={"t": frozenset({"PASSED"})})),
    "no output": (RequiredTests(frozenset("t")), OfficialOutput(reason="no_official_output")),
    "unparseable": (RequiredTests(frozenset("t")), OfficialOutput(reason="output_unparseable:KeyError")),
    "no tests": (RequiredTests(), OfficialOutput(statuses={"t": frozenset({"PASSED"})})),
}


def verdict_of(state: str) -> InstanceVerdict:
    verdict, reason, _, tests = judge(*STATES[state])
    return InstanceVerdict.model_validate(
        {"instance_id": state, "verdict": verdict, "reason": reason, "tests": tests, "official_output": None}
    )


@given(st.lists(st.sampled_from(sorted(STATES))))
def test_the_headline_is_the_formula_whatever_is_ungraded(states: list[str]) -> None:
    found = figures([verdict_of(state) for state in states])
    resolved, graded = 0, 0
    for state in states:
        resolved += state == "pass"
        graded += state in ("pass", "fail")
    assert (found["submitted"], found["pass"], found["fail"]) == (len(states), resolved, graded - resolved)
    assert found["ungraded"] == len(states) - graded
    headline = float(Fraction(100 * resolved, len(states))) if states else None
    diagnostic = float(Fraction(100 * resolved, graded)) if graded else None
    assert found["headline_raw_pass_at_1_pct"] == headline
    assert found["diagnostic_pass_over_graded_pct"] == diagnostic
    # One that loses its verdict changes nothing; one that gets it does.
    for index, state in enumerate(states):
        if state == "fail":
            lost = [verdict_of(other) for other in [*states[:index], "no output", *states[index + 1 :]]]
            assert figures(lost)["headline_raw_pass_at_1_pct"] == headline


NAMES = ("a", "b", "c")
STATUSES = ("PASSED", "FAILED", "SKIPPED", "passed")


@given(
    fail_to_pass=st.lists(st.sampled_from(NAMES)),
    pass_to_pass=st.lists(st.sampled_from(NAMES)),
    tests=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(STATUSES))),
)
def test_resolved_is_what_the_definition_says(
    fail_to_pass: list[str], pass_to_pass: list[str], tests: list[tuple[str, str]]
) -> None:
    statuses = {name: frozenset(status for each, status in tests if each == name) for name, _ in tests}
    verdict, reason, _, counted = judge(
        RequiredTests(frozenset([*fail_to_pass, *pass_to_pass])), OfficialOutput(statuses=statuses)
    )
    required = [name for name in NAMES if name in fail_to_pass or name in pass_to_pass]
    if not required:
        assert (verdict, reason, counted) == ("ungraded", "no_required_tests", None)
        return
    passed = [name for name in required if any(each == (name, "PASSED") for each in tests)]
    missing = [name for name in required if all(each[0] != name for each in tests)]
    assert (verdict == "pass") == (passed == required)
    assert verdict in ("pass", "fail")
    assert counted == f"{len(passed)}/{len(missing)}/{len(required)}"


def as_json(names: list[str]) -> str:
    return json.dumps(names)


FORMS: dict[str, Any] = {"list": list, "json": as_json, "python": repr}


@pytest.mark.parametrize(("form", "lower"), list(itertools.product(FORMS, (False, True))))
def test_the_lists_are_read_in_every_form(tmp_path: Path, form: str, lower: bool) -> None:
    names = ['it\'s "odd" | \\d+', "tests/é.py::t[1]", "None"]
    tree = ProResults(tmp_path)
    tree.instance("i", dict.fromkeys(names, "PASSED"))
    write = FORMS[form]
    row = {"FAIL_TO_PASS": write(names[:1]), "PASS_TO_PASS": write(names[1:])}
    tree.rows = [{"instance_id": "i"} | {key.lower() if lower else key: value for key, value in row.items()}]
    assert tree.graded()["i"]["tests"] == "3/0/3"
