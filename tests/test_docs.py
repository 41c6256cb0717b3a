"""README says what the code does: its tables are compared with the code, its commands are the ones CI runs.

`python -m tests.test_docs` writes the generated tables anew.
"""

import os
import re
from pathlib import Path

import pytest
import typer

import obo_bench
from obo_bench.cli.app import app
from obo_bench.core.refusals import REASONS, STAGE_EXIT_CODES, ExitCode
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
    rows = [
        f"| `{name}` | {reason.stage.value} | {int(STAGE_EXIT_CODES[reason.stage])} "
        f"| {f'`{reason.waiver}`' if reason.waiver else ''} | {reason.remedy} |"
        for name, reason in REASONS.items()
    ]
    return "\n".join(["| reason | gate | status | waived by | what to do |", "|---|---|--:|---|---|", *rows])


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


def options(command: object) -> set[str]:
    return {flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")}  # type: ignore[attr-defined]


def test_every_option_of_run_is_described() -> None:
    run = typer.main.get_command(app).commands["programbench"].commands["run"]  # type: ignore[attr-defined]
    missing = {flag for flag in options(run) if f"`{flag}" not in README}
    assert not missing


def test_every_variable_that_the_code_reads_is_described() -> None:
    used = {
        name
        for module in (ROOT / "obo_bench").rglob("*.py")
        for name in ENVIRONMENT.findall(module.read_text("utf-8"))
        if not name.startswith("GIT_") and name not in {"PATH", "PYTHONPATH"}
    }
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
