"""`obo-bench reasons`, and the answers of every command: one line, one object, also when it cannot be parsed."""

import json
import re
from pathlib import Path

import pytest

from obo_bench.__main__ import main
from obo_bench.cli.reasons import WIDTH, launcher_vocabulary, row_vocabulary, vocabulary
from obo_bench.cli.registry import command_of
from obo_bench.core.refusal_meanings import MEANINGS
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, STAGE_EXIT_CODES
from tests.conftest import obo


def test_the_vocabulary_is_the_whole_table() -> None:
    rows = {row["reason"]: row for row in vocabulary()}
    assert list(rows) == list(REASONS)
    for name, reason in REASONS.items():
        assert rows[name] == {
            "reason": name,
            "stage": reason.stage.value,
            "exit_code": int(STAGE_EXIT_CODES[reason.stage]),
            "waived_by": reason.waiver or None,
            "campaign_fatal": name in CAMPAIGN_FATAL_PROVENANCE_REASONS,
            "meaning": MEANINGS[name],
            "remedy": reason.remedy,
        }
    assert list(MEANINGS) == list(REASONS)


def test_the_words_of_launchers_and_of_an_instance_without_a_row_are_explained_too() -> None:
    assert {row["reason"]: row["resume"] for row in row_vocabulary()}["no_ledger_row"] == "begins it"
    done = obo("reasons", "--json")
    told = {row["reason"]: row["meaning"] for row in done.envelope["result"]["launcher_reasons"]}
    assert {"empty_prediction", "no_result_reported"} < set(told)
    spoken = re.sub(r"\s+", " ", obo("reasons").stdout)
    assert all(f" {reason} {meaning}" in spoken for reason, meaning in told.items())


def test_the_json_answer_holds_the_list() -> None:
    done = obo("reasons", "--json")
    assert done.status == 0
    assert done.envelope["command"] == "reasons"
    assert done.envelope["outcome"] == "completed"
    assert done.envelope["result"] == {
        "reasons": vocabulary(),
        "row_reasons": row_vocabulary(),
        "launcher_reasons": launcher_vocabulary(),
    }


@pytest.mark.parametrize("columns", [None, "40", "300"])
def test_the_text_tells_everything_within_eighty_columns(columns: str | None) -> None:
    done = obo("reasons", env={"COLUMNS": columns} if columns else {})
    assert (done.status, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH == 80
    spoken = re.sub(r"\s+", " ", done.stdout)
    for name, reason in REASONS.items():
        waiver = f" waived by {reason.waiver}" if reason.waiver else ""
        mark = "* " if name in CAMPAIGN_FATAL_PROVENANCE_REASONS else " "
        assert f"{mark}{name}{waiver} {MEANINGS[name]} -> {reason.remedy}" in spoken
    for row in row_vocabulary():
        remedy = f" -> {row['remedy']}" if row["remedy"] else ""
        assert f" {row['reason']} {row['meaning']}{remedy} => {row['resume']}" in spoken
    for stage, code in STAGE_EXIT_CODES.items():
        assert lines.count(f"{stage.value} (exit status {int(code)})") == 1


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("attest --repo-dir x", "attest"),
        ("attest --repo-dir run --json", "attest"),
        ("--json attest reasons", "attest"),
        ("programbench attest --expect attest", "programbench attest"),
        ("programbench --json run --slice 3", "programbench run"),
        ("programbench run attest", "programbench run"),
        ("programbench", "programbench"),
        ("programbench nonsense", "programbench"),
        ("practice --directory x gateway", "practice gateway"),
        ("practice --directory x", "practice"),
        ("nonsense --json", ""),
        ("", ""),
    ],
)
def test_the_command_of_a_command_line(line: str, command: str) -> None:
    assert command_of(line.split()) == command


@pytest.mark.parametrize(
    ("arguments", "command", "message"),
    [
        (["attest", "--repo-dir", "x", "--bogus"], "attest", "--bogus"),
        (
            ["programbench", "attest", "--repo-dir", "x", "--seed-commit", "main"],
            "programbench attest",
            "'main' is not a commit",
        ),
        (["programbench", "run", "--workers", "many"], "programbench run", "--workers"),
        (["reasons", "--bogus"], "reasons", "--bogus"),
        (["practice", "--scenario", "no such"], "practice", "no such"),
        (["nonsense"], "", "nonsense"),
    ],
)
def test_a_usage_error_is_one_object_that_says_what_is_wrong(
    arguments: list[str], command: str, message: str, tmp_path: Path
) -> None:
    done = obo(*arguments, "--json", cwd=tmp_path, env={"PYTHONPATH": str(Path.cwd())})
    assert done.status == done.envelope["exit_code"] == 2
    assert done.envelope["command"] == command
    assert done.envelope["outcome"] == "usage_error"
    assert message in done.envelope["error"]["message"]
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flag", ["--repo-dir", "--settings-path", "--runs-root", "--output", "--solve-model",
                                  "--expect", "--expected-version", "--seed-commit", "--run-id"])  # fmt: skip
def test_the_empty_value_of_an_unset_variable_is_a_usage_error(
    flag: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["attest", "--repo-dir", str(tmp_path), flag, "", "--json"]) == 2
    told = capfd.readouterr()
    assert flag in json.loads(told.out)["error"]["message"]
    assert flag in told.err


@pytest.mark.parametrize("arguments", [["attest", "--help"], ["reasons", "-h"], ["practice", "--help"]])
def test_help_is_not_followed_by_another_answer(arguments: list[str]) -> None:
    assert obo(*arguments, "--json").stdout == obo(*arguments).stdout != ""


def test_json_is_one_line_of_ascii() -> None:
    text = obo("reasons", "--json").stdout
    assert text.isascii()
    assert text.count("\n") == 1
    assert json.loads(text)
