"""Every option has its environment variable: flag over variable over default, and what is wrong names the variable."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer

from obo_bench.cli import registry, variables
from obo_bench.cli.app import app
from obo_bench.core.variables import KEPT, TEST_PREFIX, is_option_variable, without_option_variables
from obo_bench.practice.main_job import practice_environment
from tests.conftest import Done, obo
from tests.help_pages import page
from tests.parity.command_lines import built

COMMANDS = sorted(registry.RECORDED | registry.READ_ONLY)
WITHOUT = {"--help", "--version", "--install-completion", "--show-completion"}
"""Options that answer and end."""


def every_option() -> set[str]:
    return {flag for command in COMMANDS for flag, _ in variables.options(built(command))}


def explained(*words: str | Path, env: dict[str, str]) -> dict[str, Any]:
    done = obo(*words, "--explain", "--json", env=env)
    assert done.status == 0, done.stderr
    values = done.envelope["result"]["values"]
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_variable_of_its_own(command: str) -> None:
    flags = [flag for parameter in built(command).params for flag in parameter.opts if flag.startswith("--")]
    assert set(flags) - {flag for flag, _ in variables.options(built(command))} <= WITHOUT
    assert len({variables.names(flag)[0] for flag in flags}) == len(set(flags))


def test_no_variable_of_an_option_means_something_else() -> None:
    names = {variables.names(flag)[0] for flag in every_option()}
    assert not names & KEPT
    assert not [name for name in names if name.startswith(TEST_PREFIX)]
    assert set(variables.HISTORICAL) <= every_option()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_the_rule_and_no_option_names_its_variable(command: str) -> None:
    flag = next(flag for flag, _ in variables.options(built(command)))
    assert " ".join(page(command).split()).endswith(variables.meaning(flag))
    assert variables.names(flag)[0] in variables.meaning(flag)
    for flag, parameter in variables.options(built(command)):
        assert variables.names(flag)[0] not in (getattr(parameter, "help", None) or "")


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_default(checkout: Path) -> None:
    env = {"OBO_BENCH_REPO_DIR": str(checkout), "OBO_BENCH_WORKERS": "3", "OBO_BENCH_CPUS": "2", "OBO_BENCH_MEMORY": ""}
    values = explained("programbench", "run", "--cpus", "1", env=env)
    told = {name: (values[name]["value"], values[name]["origin"]) for name in ("workers", "cpus", "memory", "repo_dir")}
    assert told == {
        "workers": (3, "environment OBO_BENCH_WORKERS"),
        "cpus": (1.0, "flag"),
        "memory": ("16g", "default"),
        "repo_dir": (str(checkout), "environment OBO_BENCH_REPO_DIR"),
    }


@pytest.mark.parametrize(
    ("text", "ids"),
    [("a", ["a"]), (" a, b ,", ["a", "b"]), ("a\nb,c\n", ["a", "b,c"]), (",", []), ("", [])],
)
def test_what_may_be_repeated_is_taken_apart_at_lines_or_commas(checkout: Path, text: str, ids: list[str]) -> None:
    env = {"OUROBOROS_REPO_DIR": str(checkout), "OBO_BENCH_INSTANCE_ID": text}
    values = explained("programbench", "run", env=env)
    assert values["instance_id"]["value"] == ids
    assert values["instance_id"]["origin"] == ("environment OBO_BENCH_INSTANCE_ID" if ids else "default")


@pytest.mark.parametrize(("word", "on"), [("1", True), ("Yes", True), ("true", True), ("0", False), ("no", False)])
def test_a_flag_is_turned_on_and_off_by_words(checkout: Path, word: str, on: bool) -> None:
    values = explained("programbench", "run", env={"OUROBOROS_REPO_DIR": str(checkout), "OBO_BENCH_EVAL": word})
    assert values["eval"] == {"value": on, "origin": "environment OBO_BENCH_EVAL", "variables": ["OBO_BENCH_EVAL"]}


@pytest.mark.parametrize(
    ("name", "value", "flag"),
    [
        ("OBO_BENCH_WORKERS", "many", "--workers"),
        ("OBO_BENCH_WORKERS", "0", "--workers"),
        ("OBO_BENCH_DRY_RUN", "perhaps", "--dry-run"),
        ("OBO_BENCH_PULL", "sometimes", "--pull"),
        ("OBO_BENCH_MEMORY", "much", "--memory"),
        ("OBO_BENCH_RUN_ID", "a/b", "--run-id"),
        ("OBO_BENCH_CPUS", "inf", "--cpus"),
    ],
)
def test_a_value_that_cannot_be_is_a_usage_error_that_names_the_variable(
    checkout: Path, name: str, value: str, flag: str
) -> None:
    env = {"OUROBOROS_REPO_DIR": str(checkout), name: value}
    done = obo("programbench", "run", "--json", env=env)
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error")
    message = done.envelope["error"]["message"]
    assert name in message
    assert flag in message
    assert value in message
    assert "unset" in message
    assert obo("programbench", "run", "--explain", flag, "x", env=env).stderr.count(name) == 0, "the flag counts"


def test_ours_wins_over_the_historical_name_and_a_difference_is_told(checkout: Path, tmp_path: Path) -> None:
    env = {"OUROBOROS_REPO_DIR": str(tmp_path), "OBO_BENCH_REPO_DIR": str(checkout)}
    done = obo("programbench", "run", "--explain", "--json", env=env)
    assert done.envelope["result"]["values"]["repo_dir"]["value"] == str(checkout)
    told = (
        "--repo-dir: OBO_BENCH_REPO_DIR and OUROBOROS_REPO_DIR are set to different values; OBO_BENCH_REPO_DIR counts"
    )
    assert told in done.stderr
    assert "different" not in obo("programbench", "run", "--explain", "--repo-dir", checkout, env=env).stderr


@pytest.mark.parametrize(("flag", "name"), variables.HISTORICAL.items())
def test_every_historical_name_is_accepted(checkout: Path, flag: str, name: str) -> None:
    env = {"OUROBOROS_REPO_DIR": str(checkout), name: "2" if flag == "--docker-cpus" else str(checkout)}
    told = explained("eval", "r", env=env) | explained("attest", env=env)
    assert told[flag[2:].replace("-", "_")]["origin"] == f"environment {name}"
    assert told[flag[2:].replace("-", "_")]["variables"] == list(variables.names(flag))


def test_a_variable_without_an_option_is_told_and_ignored(checkout: Path) -> None:
    env = {"OUROBOROS_REPO_DIR": str(checkout), "OBO_BENCH_WORKRES": "3", "OBO_BENCH_OPENROUTER_URL": "http://x"}
    done = obo("programbench", "run", "--explain", env=env)
    assert done.status == 0
    assert [line for line in done.stderr.splitlines() if "OBO_BENCH" in line] == [
        "note: the environment variable OBO_BENCH_WORKRES is ignored: there is no option of that name"
    ]


def test_a_variable_of_another_command_is_no_business_of_this_one() -> None:
    done = obo("reasons", env={"OBO_BENCH_WORKERS": "many", "OBO_BENCH_DRY_RUN": "perhaps"})
    assert (done.status, done.stderr) == (0, "")


def test_the_answer_is_json_by_variable_also_for_what_cannot_be_parsed() -> None:
    assert obo("programbench", "run", "--no-such", env={"OBO_BENCH_JSON": "1"}).envelope["outcome"] == "usage_error"
    assert obo("reasons", env={"OBO_BENCH_JSON": "yes"}).envelope["command"] == "reasons"
    assert obo("--version", env={"OBO_BENCH_JSON": "1"}).stdout.startswith("obo-bench ")


def test_a_command_that_only_starts_the_one_below_does_not_read_its_variables() -> None:
    done = obo("practice", "gateway", "--chaos", "2", env={"OBO_BENCH_WORKERS": "40"})
    assert "--chaos" in done.stderr
    assert "OBO_BENCH_WORKERS" not in done.stderr
    assert "OBO_BENCH_WORKERS" in obo("practice", env={"OBO_BENCH_WORKERS": "40"}).stderr


def test_the_options_of_a_campaign_do_not_reach_the_run_of_a_practice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBO_BENCH_SOLVE_MODEL", "m")
    monkeypatch.setenv("OBO_BENCH_OPENROUTER_URL", "u")
    environment = practice_environment(tmp_path)
    assert "OBO_BENCH_SOLVE_MODEL" not in environment
    assert environment["OBO_BENCH_OPENROUTER_URL"] == "u"
    assert without_option_variables({"OBO_BENCH_TEST_X": "1", "OBO_BENCH_X": "1", "PATH": ""}) == {
        "OBO_BENCH_TEST_X": "1",
        "PATH": "",
    }


def test_the_tests_themselves_run_without_the_variables_of_whoever_starts_them() -> None:
    assert [name for name in os.environ if is_option_variable(name)] == []


def test_every_origin_is_in_the_manifest(checkout: Path, tmp_path: Path) -> None:
    (checkout / "README").write_text("changed")
    env = {"OUROBOROS_REPO_DIR": str(checkout), "OBO_BENCH_RUNS_ROOT": str(tmp_path / "r"), "OBO_BENCH_JSON": "1"}
    done: Done = obo("programbench", "run", "--workers", "2", env=env)
    assert done.status == 4
    origins = done.manifest["harness"]["origins"]
    assert set(origins) == {flag[2:].replace("-", "_") for flag, _ in variables.options(built("programbench run"))} - {
        "explain"
    }
    told = {name: origins[name] for name in ("workers", "runs_root", "repo_dir", "json", "solve_model", "cpus")}
    assert told == {
        "workers": "flag",
        "runs_root": "environment OBO_BENCH_RUNS_ROOT",
        "repo_dir": "environment OUROBOROS_REPO_DIR",
        "json": "environment OBO_BENCH_JSON",
        "solve_model": "settings",
        "cpus": "default",
    }
    assert json.dumps(origins)


def test_typer_knows_nothing_of_the_variables_itself() -> None:
    """Two ways to read one variable could disagree."""
    for command in COMMANDS:
        assert [parameter for parameter in built(command).params if parameter.envvar] == []
    assert typer.main.get_command(app).params
