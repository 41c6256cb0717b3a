"""`--explain` shows what a recorded command would be admitted with, where each value comes from, and does nothing."""

from pathlib import Path

import pytest

from obo_bench.cli import registry, variables
from tests.conftest import obo
from tests.guard.invocations import World
from tests.parity.command_lines import built

RECORDED = sorted(registry.RECORDED)


def everything(directory: Path) -> set[tuple[str, int]]:
    return {(str(path), path.lstat().st_mtime_ns) for path in [directory, *directory.rglob("*")]}


@pytest.mark.parametrize("command", RECORDED)
def test_every_recorded_command_explains_itself_and_touches_nothing(tmp_path: Path, command: str) -> None:
    world = World(tmp_path.resolve()).prepare()
    before = everything(world.base)
    done = obo(*world.arguments(command, "--explain"), cwd=world.elsewhere)
    assert (done.status, done.stderr) == (0, "")
    told = done.envelope
    assert (told["outcome"], told["run_root"], told["manifest"]) == ("completed", None, None)
    assert told["result"]["schema"] == "obo_bench.explain.v1"
    assert Path(told["result"]["manifest"]) == world.manifest(command)
    assert set(told["result"]["values"]) >= {
        flag[2:].replace("-", "_") for flag, _ in variables.options(built(command)) if flag != "--explain"
    }
    assert everything(world.base) == before


def test_only_recorded_commands_have_it() -> None:
    having = {
        command
        for command in registry.RECORDED | registry.READ_ONLY
        if "--explain" in {flag for flag, _ in variables.options(built(command))}
    }
    assert having == registry.RECORDED


def test_for_people_there_is_a_line_for_each_value(checkout: Path) -> None:
    done = obo("attest", "--repo-dir", checkout, "--expected-version", "6", "--explain", env={"OBO_BENCH_RUN_ID": "r"})
    lines = done.stdout.splitlines()
    assert lines[0] == "command   attest"
    assert lines[1].endswith("/attest/r")
    assert [" ".join(line.split()) for line in lines if "expected_version" in line or "run_id" in line] == [
        'run_id "r" (environment OBO_BENCH_RUN_ID)',
        'expected_version "6" (flag)',
    ]


def test_secrets_are_masked(checkout: Path) -> None:
    url = "http://user:hunter2-secret@127.0.0.1:9"
    for more in ([], ["--json"]):
        done = obo("attest", "--repo-dir", checkout, "--explain", *more, env={"OBO_BENCH_OUROBOROS_URL": url})
        assert done.status == 0
        assert "hunter2" not in done.stdout + done.stderr
        assert "[redacted]@127.0.0.1" in done.stdout


def test_what_the_settings_decide_is_said_to_come_from_there(checkout: Path) -> None:
    values = obo("attest", "--repo-dir", checkout, "--explain", "--json").envelope["result"]["values"]
    assert values["solve_model"] == {"value": None, "origin": "settings", "variables": ["OBO_BENCH_SOLVE_MODEL"]}
    assert values["settings_path"]["value"] == str(checkout.parent / "data" / "settings.json")


def test_settings_of_another_server_do_not_replace_those_of_an_isolated_data_root(checkout: Path) -> None:
    words: list[str | Path] = [
        *("prepare", "--repo-dir", checkout, "--workspace", "w", "--instruction-file", "i", "--container-name", "c"),
        *("--instance-id", "practice__wordtally.0000001", "--isolated-data-root", "/isolated", "--explain", "--json"),
    ]

    def settings(variable: str) -> str:
        value = obo(*words, env={variable: "/other.json"}).envelope["result"]["values"]["settings_path"]["value"]
        return str(value)

    assert settings("OUROBOROS_SETTINGS_PATH") == "/isolated/settings.json"
    assert settings("OBO_BENCH_SETTINGS_PATH") == "/other.json"


@pytest.mark.parametrize("wrong", [["--memory", "much"], ["--run-id", "a/b"], ["--workers", "0"]])
def test_arguments_that_would_be_refused_are_refused(checkout: Path, wrong: list[str]) -> None:
    assert obo("programbench", "run", "--repo-dir", checkout, "--explain", *wrong).status == 2
