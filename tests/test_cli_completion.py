"""Completion as the shells ask for it: right words, nothing else on stdout, nothing heavy, never a failure."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from obo_bench.cli import completion
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.practice.standin.scenarios import SCENARIOS
from obo_bench.programbench.solving import endings
from obo_bench.report.wire_formats import FORMATS

PROGRAM = [sys.executable, "-m", "obo_bench"]


def asked(line: str, *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> list[str]:
    """Ask as bash does, for the word at the end of the line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - (not line.endswith(" ")))}
    done = subprocess.run(
        PROGRAM,
        env={**os.environ, "_OBO_BENCH_COMPLETE": "complete_bash", **words, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), line
    return [word for word in done.stdout.splitlines() if word]


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, str]:
    for name in ("alpha", "almond", "beta"):
        (tmp_path / "runs" / "programbench" / name).mkdir(parents=True)
    return {"OBO_BENCH_RUNS_ROOT": str(tmp_path / "runs")}


def test_commands_and_options_are_completed() -> None:
    assert asked("obo-bench att") == ["attest"]
    assert set(asked("obo-bench programbench run --ex")) == {"--explain", "--expect", "--expected-version"}
    assert "--help" in asked("obo-bench attest --")


def test_instances_are_those_of_the_installed_package() -> None:
    found = asked("obo-bench programbench run --instance-id ab")
    assert found == sorted(found)
    assert found[0].startswith("ab")
    assert all("__" in name for name in found)
    assert asked("obo-bench prepare --instance-id ab") == found


@pytest.mark.parametrize(
    "line",
    [
        *("obo-bench programbench run --run-id al", "obo-bench eval al", "obo-bench export --source al"),
        *("obo-bench programbench cancel al", "obo-bench programbench gc al", "obo-bench programbench gate --run al"),
    ],
)
def test_runs_are_completed_wherever_one_is_named(runs: dict[str, str], line: str) -> None:
    assert sorted(asked(line, env=runs)) == ["almond", "alpha"]


def test_the_runs_root_of_the_line_counts(runs: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "other" / "programbench" / "gamma").mkdir(parents=True)
    assert asked(f"obo-bench eval --runs-root {tmp_path / 'other'} ", env=runs) == ["gamma"]


@pytest.mark.parametrize(("named", "place"), [(True, "elsewhere"), (False, "obo-bench-practice")])
def test_a_practice_knows_its_own_runs(runs: dict[str, str], tmp_path: Path, named: bool, place: str) -> None:
    run = tmp_path / place / "bench_runs" / "programbench" / "gamma"
    run.mkdir(parents=True)
    ended = Row(benchmark="b", instance_id="i", status="failed", reason_code="empty_final_text")
    Ledger(run, "i", Redactor()).append(ended)
    line = f"obo-bench practice{f' --directory {tmp_path / place}' if named else ''} --run-id ga"
    assert asked(line, env=runs, cwd=tmp_path) == ["gamma"]
    assert asked(f"{line}mma --retry em", env=runs, cwd=tmp_path) == ["empty_final_text"]


def test_retry_offers_what_the_named_run_has_ended_with(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "programbench" / "night"
    run.mkdir(parents=True)
    ledger = Ledger(run, "i", Redactor())
    for status, reason in (("failed", "empty_final_text"), ("completed", "embedded"), ("blocked", "emu")):
        ledger.append(Row(benchmark="b", instance_id=reason, status=status, reason_code=reason))
    line = f"obo-bench programbench run --runs-root {tmp_path / 'runs'}"
    assert asked(f"{line} --run-id night --retry em") == ["empty_final_text", "emu"]
    assert asked(f"{line} --retry em") == []


def test_reasons_scenarios_formats_and_choices_are_completed() -> None:
    assert asked("obo-bench programbench run --retry ca") == ["cancelled_by_operator"]
    assert asked("obo-bench practice --scenario wo") == ["worker-crash"]
    assert asked("obo-bench schema gate-") == ["gate-result", "gate-tasks"]
    assert asked("obo-bench programbench run --pull ") == ["missing", "always"]


def test_the_offered_words_are_those_that_are_known() -> None:
    assert list(completion.SCENARIOS) == sorted(SCENARIOS)
    decided = {endings.CANCELLED_BY_OPERATOR, endings.CHECKPOINT_UNREADABLE, endings.TASK_UNKNOWN, endings.DEGRADED}
    assert decided | endings.PERMANENT <= set(completion.RETRIED)
    assert {"manifest", "result", "run"} <= set(FORMATS)


def test_nothing_fails_and_nothing_is_said_whatever_the_world_is_like(tmp_path: Path) -> None:
    wrong = {"OBO_BENCH_WORKERS": "many", "OBO_BENCH_JSON": "1", "OBO_BENCH_NO_SUCH": "1", "OBO_BENCH_EVAL": "perhaps"}
    file = tmp_path / "file"
    file.write_text("")
    assert asked("obo-bench programbench run --run-id x", env={**wrong, "OBO_BENCH_RUNS_ROOT": str(file)}) == []
    assert asked("obo-bench programbench run --workers many --run-id ", cwd=tmp_path) == []
    assert asked("obo-bench no-such x") == []


def test_a_completer_that_fails_offers_nothing() -> None:
    def broken(ctx: object, incomplete: str) -> list[str]:
        raise OSError(f"{ctx} {incomplete}")

    assert completion.completer(broken)(None, "x") == []  # type: ignore[arg-type]  # no completer looks at it


@pytest.mark.parametrize(
    "line", ["run --instance-id ab", "run --run-id ab", "run --run-id alpha --retry ca", "cancel ab"]
)
def test_a_completion_imports_nothing_heavy(line: str, runs: dict[str, str]) -> None:
    script = (
        "import runpy, sys\n"
        "try: runpy.run_module('obo_bench', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'docker', 'httpx', 'programbench', 'rich', 'filelock', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    words = f"obo-bench programbench {line}"
    env = {"_OBO_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **runs, **env}, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy_either(words: list[str]) -> None:
    script = "import sys, obo_bench.__main__ as m\nm.main(sys.argv[1:])\nprint('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_with_the_script_that_is_shown(tmp_path: Path) -> None:
    command = tmp_path / "obo-bench"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    command.chmod(0o755)
    script = (
        'eval "$(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 obo-bench --show-completion bash)"\n'
        "complete -p obo-bench >&2\n"
        "COMP_WORDS=(obo-bench programbench ev); COMP_CWORD=2; _obo_bench_completion obo-bench ev programbench\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "eval\n"
    assert "_obo_bench_completion" in done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_answered_too(shell: str) -> None:
    env = {"_OBO_BENCH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "obo-bench att"}
    done = subprocess.run(
        PROGRAM,
        env={**os.environ, **env, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "attest" in done.stdout
    assert done.stderr == ""
