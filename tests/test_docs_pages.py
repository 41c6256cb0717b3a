"""docs/ says what the code does: its commands, options, statuses, reasons and variables are the code's.

`python -m tests.test_docs_pages` writes the generated parts anew.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

import obo_bench
from obo_bench.cli.app import app
from obo_bench.cli.registry import READ_ONLY, RECORDED
from obo_bench.core.ledger_row import Status
from obo_bench.core.manifest import Outcome
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import ExitCode
from obo_bench.core.variables import PREFIX
from obo_bench.gateway import outcome
from obo_bench.programbench.evaluation.verdicts import RULINGS
from obo_bench.programbench.row_reasons import ROW_REASONS
from tests.docs_presets import launcher_options
from tests.docs_tables import DOCS, GENERATED, GOLDEN, PLACES, format_names, part_of, place_of, rewrite
from tests.test_docs import command_object

ROOT = DOCS.parent
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
GENERATED_PAGES = {page for page, _ in GENERATED}
OTHERS_OPTIONS = {"--network", "--vm-type", "--vz-rosetta", "--cpu", "--unshallow"}
"""Of docker, Colima and git."""
LAUNCHERS_OPTIONS = {"--input", "--solver", "--run-root", "--timeout", "--level"} | launcher_options()
"""Of the launcher that is shown, and of those that presets know."""
OTHERS_WORDS = {"bench_runs", "no_ledger_row", "task_cleanroom_v6", "spring_0"}
OTHERS_VARIABLES = {"LD_PRELOAD", "NAME", "USD", "RUNS_ROOT", "CHECKOUT", "TOTAL_BUDGET"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def prose(page: str) -> str:
    return FENCE.sub("", text_of(page))


@pytest.mark.parametrize(("page", "name"), list(GENERATED))
def test_a_generated_part_is_what_the_code_says(page: str, name: str) -> None:
    assert part_of(page, name)[1] == GENERATED[page, name]() + "\n"


def test_every_format_says_where_it_lies() -> None:
    assert {name for name in format_names() if not place_of(name)} == set()
    assert set(PLACES) - set(format_names()) == set()


def test_the_index_names_every_page_and_script() -> None:
    others = {path.name for path in DOCS.iterdir() if path.suffix in {".md", ".sh"} and path.name != "README.md"}
    assert {name for name in others if f"({name})" not in text_of("README.md")} == set()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text_of(page)):
        assert (DOCS / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_no_longer_than_the_codes(page: str) -> None:
    width = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["line-length"]
    lines = [line for line in prose(page).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > width] == []


def command_lines(page: str) -> Iterator[str]:
    """Every command line of a page: in shell blocks, after the prompt of a session, and within a sentence."""
    for language, block in FENCE.findall(text_of(page)):
        lines = block.replace("\\\n", " ").splitlines()
        if language in ("sh", "bash"):
            yield from lines
        if language in ("console", "text"):
            yield from (line.removeprefix("$ ") for line in lines if line.startswith("$ "))
            yield from (line.partition(":  ")[2] for line in lines if re.search(r":\s+obo-bench ", line))
    yield from INLINE.findall(prose(page))


def obo_words(line: str) -> list[str] | None:
    """What follows obo-bench, or the campaign's own arguments; None for another program's line."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    if words[:1] and words[0].endswith("campaign.sh"):
        return ["programbench", "run", *words[3:]]
    own = words[words.index("obo-bench") + 1 :] if "obo-bench" in words else None
    # What follows is the command of a launcher.
    return own[: own.index("--")] if own is not None and "--" in own else own


def command_of_words(words: list[str]) -> tuple[Any, list[str]]:
    found: Any = typer.main.get_command(app)
    while words and not words[0].startswith("-") and words[0] in getattr(found, "commands", {}):
        found, words = found.commands[words[0]], words[1:]
    return found, words


def flags_of(command: Any) -> set[str]:
    own = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    return own | {"--help", "-h", "--version"}


def unknown_in(line: str) -> list[str]:
    """What of a command line the real commands do not take."""
    words = obo_words(line)
    if words is None:
        return []
    command, rest = command_of_words(words)
    takes_words = any(not parameter.opts[0].startswith("-") for parameter in command.params)
    if rest and not rest[0].startswith("-") and not takes_words:
        return [rest[0]]
    flags = [word.partition("=")[0] for word in rest if word.startswith("-") and not word[1:].isdigit()]
    return [flag for flag in flags if flag not in flags_of(command)]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_one_that_the_program_takes(page: str) -> None:
    wrong = {line: unknown for line in command_lines(page) if (unknown := unknown_in(line))}
    assert wrong == {}


def test_a_wrong_command_line_would_be_noticed() -> None:
    assert unknown_in("obo-bench programbench run --no-such 3") == ["--no-such"]
    assert unknown_in("obo-bench programbench runn") == ["runn"]
    assert unknown_in("X=1 obo-bench eval RUN --workers 2 # --no-such") == []
    assert unknown_in("docs/campaign.sh name ids --bogus") == ["--bogus"]


@cache
def all_flags() -> frozenset[str]:
    return frozenset(flag for name in RECORDED | READ_ONLY for flag in flags_of(command_object(name)))


@pytest.mark.parametrize("page", PAGES)
def test_every_option_that_is_named_exists(page: str) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text_of(page)))
    assert named - all_flags() - OTHERS_OPTIONS - LAUNCHERS_OPTIONS == set()


@cache
def known_words() -> frozenset[str]:
    """Reasons, outcomes, states, names of fields, public names and files: whatever the code spells this way."""
    fields = {
        field
        for path in GOLDEN.glob("*.schema.json")
        for field in re.findall(r'"([a-z_]+)": \{', path.read_text("utf-8"))
    }
    words = {*REASONS, *ROW_REASONS, *RULINGS, *outcome._INFRASTRUCTURE, *get_args(Outcome), *get_args(Status)}
    return frozenset(words | fields | set(obo_bench.__all__) | OTHERS_WORDS)


@pytest.mark.parametrize("page", PAGES)
def test_every_reason_outcome_and_field_that_is_named_exists(page: str) -> None:
    named = {
        word
        for code in INLINE.findall(prose(page))
        for word in re.findall(r"(?<![\w.])[a-z]+(?:_[a-z0-9]+)+(?![\w.(/])", code)
    }
    unknown = {word for word in named - known_words() if not in_the_code(word)}
    assert unknown == set()


@cache
def source() -> str:
    files = [*ROOT.glob("obo_bench/**/*.py"), *ROOT.glob("settings/*.json"), DOCS / "campaign.sh"]
    return "\n".join(path.read_text("utf-8") for path in files)


def in_the_code(word: str) -> bool:
    return re.search(rf"(?<!\w){word}(?!\w)", source()) is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_that_is_named_is_one_that_the_code_knows(page: str) -> None:
    named = set(re.findall(r"(?<![\w<])[A-Z]+(?:_[A-Z]+)+(?!\w)", text_of(page)))
    of_options = {f"{PREFIX}{flag.removeprefix('--').replace('-', '_').upper()}" for flag in all_flags()}
    named -= of_options
    assert {name for name in named if not in_the_code(name)} - OTHERS_VARIABLES == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_status_that_is_named_exists(page: str) -> None:
    named = {int(number) for number in re.findall(r"\b(?:[Ss]tatus|exits? with|ends with) (\d+)\b", prose(page))}
    assert named <= {int(code) for code in ExitCode}


def test_the_campaigns_variables_are_described() -> None:
    used = set(re.findall(r"\bCAMPAIGN_[A-Z_]+", (DOCS / "campaign.sh").read_text("utf-8")))
    assert {name for name in used if f"`{name}`" not in text_of("campaigns.md")} == set()


def test_the_other_benchmark_runs_and_is_recorded_as_the_page_says(checkout: Path, tmp_path: Path) -> None:
    example = re.search(r"<!-- example -->\n```python\n(.*?)```", text_of("another-benchmark.md"), re.DOTALL)
    assert example
    program = tmp_path / "sums.py"
    program.write_text(example[1], "utf-8")

    def run() -> subprocess.CompletedProcess[str]:
        line = [sys.executable, str(program), str(checkout), str(tmp_path / "runs")]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=60, check=False)

    root = tmp_path / "runs" / "sums" / "first"
    for invocation in (1, 2):
        done = run()
        assert (done.returncode, done.stderr) == (1, "")
        manifest = json.loads((root / "run_manifest.json").read_text())
        assert manifest["requested_task_ids"] == ["sum-1", "sum-2", "sum-3"]
        assert (manifest["extra"]["outcome"], manifest["extra"]["completed_count"]) == ("instances_failed", 2)
        assert len((root / "result_index.jsonl").read_text().splitlines()) == 3
        assert len(list((root / "manifests").iterdir())) == invocation - 1
    assert (root / "sum-3" / "result_index.jsonl").exists()

    (checkout / "VERSION").write_text("changed\n")
    done = run()
    assert done.returncode == 4
    assert "refused (seed_dirty)" in done.stderr


if __name__ == "__main__":
    rewrite()
