"""README says what the code does: its tables are compared with the code, its commands are the ones CI runs.

`python -m tests.test_docs` writes the generated tables anew.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import obo_bench
from obo_bench.cli.app import app
from obo_bench.cli.reasons import vocabulary
from obo_bench.cli.shell import ATTEST_KEYS
from obo_bench.cli.variables import HISTORICAL
from obo_bench.core.refusals import ExitCode
from tests.conftest import obo
from tests.test_layers import command_names

ROOT = Path(obo_bench.__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
ENVIRONMENT = re.compile(r"""(?:environ\.get\(|environ\[|envvar=|_ENV = )"([A-Z][A-Z_]+)\"""")


def section(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", README, re.DOTALL)
    assert found, f"README.md has no section {name!r}"
    return found[1]


def exit_code_table() -> str:
    rows = [f"| {int(code)} | {code.meaning} |" for code in ExitCode]
    return "\n".join(["| status | meaning |", "|--:|---|", *rows])


def reason_table() -> str:
    rows = []
    for row in vocabulary():
        waiver = f"`{row['waived_by']}`" if row["waived_by"] else ""
        fatal = "yes" if row["campaign_fatal"] else ""
        rows.append(
            f"| `{row['reason']}` | {row['stage']} | {row['exit_code']} | {waiver} | {fatal} | {row['remedy']} |"
        )
    head = "| reason | gate | status | waived by | campaign-fatal | what to do |"
    return "\n".join([head, "|---|---|--:|---|---|---|", *rows])


GENERATED = {"exit-codes": exit_code_table, "reasons": reason_table}


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_generated_tables(name: str) -> None:
    assert section(name) == GENERATED[name]()


@pytest.mark.parametrize("command", sorted(command_names()))
def test_every_command_is_described_and_has_help_with_an_example(command: str) -> None:
    assert f"`obo-bench {command}" in README
    done = obo(*command.split(), "--help", env={"COLUMNS": "120"})
    assert done.status == 0
    assert "Example: obo-bench" in done.stdout


def command_object(name: str) -> Any:
    found: Any = typer.main.get_command(app)
    for word in name.split():
        found = found.commands[word]
    return found


def options(command: Any) -> set[str]:
    return {flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")}


@pytest.mark.parametrize("command", sorted(command_names()))
def test_every_option_of_every_command_is_described(command: str) -> None:
    found = options(command_object(command))
    assert found
    assert {flag for flag in found if f"`{flag}`" not in README} == set()


def test_every_variable_of_the_shell_answer_is_described() -> None:
    assert {key for key in ATTEST_KEYS if f"`{key}`" not in README} == set()


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("override", ["yes", "no"])
def test_the_shell_example_runs_as_it_is_written(
    shell: str, override: str, checkout: Path, tmp_path: Path, serve: Callable[..., str]
) -> None:
    command = tmp_path / "bin" / "obo-bench"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m obo_bench "$@"\n')
    command.chmod(0o755)
    example = re.search(r"<!-- shell-example -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert example

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "OBO_ALLOW_EVOLVED_VOLUME": override, "OUROBOROS_REPO_DIR": str(checkout)}
        environ["PATH"] = f"{command.parent}:{os.environ['PATH']}"
        line = [shell, "-eu", "-c", example[1], shell, *arguments]
        return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=120, check=False)

    done = run("--ouroboros-url", serve(version="6.99.0"))
    assert ("would be let through" in done.stderr) is (override == "yes")
    if override == "yes":
        assert (done.returncode, done.stdout.split(",")[0]) == (0, "go: the server runs 6.99.0")
    else:
        assert (done.returncode, done.stdout) == (3, "")
        assert "stop: runtime_skew: restart the server" in done.stderr
    mistaken = run("--no-such")
    assert mistaken.returncode == 2
    assert "stop: usage_error: No such option: --no-such" in mistaken.stderr


def test_every_variable_that_the_code_reads_is_described() -> None:
    used = {
        name
        for module in (ROOT / "obo_bench").rglob("*.py")
        for name in ENVIRONMENT.findall(module.read_text("utf-8"))
        if not name.startswith("GIT_") and name not in {"PATH", "PYTHONPATH"}
    }
    used |= set(HISTORICAL.values())
    assert {"OUROBOROS_REPO_DIR", "OBO_ALLOW_EVOLVED_VOLUME", "DOCKER_HOST"} <= used
    assert {name for name in used if f"`{name}`" not in README} == set()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_version_and_the_two_ways_to_start() -> None:
    assert obo("--version").stdout == f"obo-bench {obo_bench.__version__}\n"
    assert f"## {obo_bench.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for name in ("first-command", "second-command"):
        assert f"<!-- {name} -->" in README
        assert f"readme_command {name}" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def rewrite() -> None:
    text = README
    for name, table in GENERATED.items():
        text = text.replace(f"<!-- {name} -->\n{section(name)}\n", f"<!-- {name} -->\n{table()}\n")
    (ROOT / "README.md").write_text(text, "utf-8")


if __name__ == "__main__":
    rewrite()
