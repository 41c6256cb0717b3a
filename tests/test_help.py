"""Help is one text: every page opens with one sentence and a true example, fits a terminal and keeps one voice."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import obo_bench
from obo_bench.cli import variables
from obo_bench.cli.panels import PANELS, panel_of
from obo_bench.cli.parsing import is_flag
from obo_bench.core.refusals import ExitCode
from tests.conftest import obo
from tests.help_pages import WIDTH, command_of, every_name, example, page, parsed

NAMES = sorted(every_name())
LONGEST = 140
"""Characters of an option's help: more than three lines of its column are not read."""


def options(name: str) -> list[tuple[str, str, bool]]:
    """Return flag, help and whether it has no value, of every option of a command."""
    found = variables.options(command_of(name))
    return [(flag, str(getattr(option, "help", "") or ""), is_flag(option)) for flag, option in found]


@pytest.mark.parametrize("name", NAMES)
def test_help_opens_with_one_sentence_and_an_example(name: str) -> None:
    usage, sentence, begin = re.split(r"\n\s*\n", page(name))[:3]
    assert usage.startswith(f"Usage: {f'obo-bench {name}'.strip()} [OPTIONS]")
    told = " ".join(sentence.split())
    assert told.endswith(".")
    assert ". " not in told
    assert begin.startswith("  Example: obo-bench ")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_parses_as_it_is_typed_and_shows_the_command(name: str) -> None:
    """A command that answers under two names shows one of them."""
    named = parsed(example(name))
    assert named.startswith(name) or named.split()[-1] == name.rsplit(maxsplit=1)[-1]


def test_an_example_that_is_wrong_would_be_noticed() -> None:
    for wrong in ("obo-bench attest --no-such", "obo-bench eval", "obo-bench programbench run --pull often"):
        with pytest.raises((typer.BadParameter, Exception)) as raised:
            parsed(wrong)
        assert type(raised.value).__name__ in {"NoSuchOption", "MissingParameter", "BadParameter"}


@pytest.mark.parametrize("name", ["programbench gate-tasks", "reasons", "schema", "runs"])
def test_examples_that_need_nothing_run(name: str) -> None:
    words = shlex.split(example(name))
    words = words[: words.index(">")] if ">" in words else words
    assert obo(*words[1:]).status == 0


@pytest.mark.parametrize("width", [WIDTH, 120])
@pytest.mark.parametrize("name", NAMES)
def test_help_fits_the_terminal_and_breaks_no_option_in_two(name: str, width: int) -> None:
    for line in page(name, width).splitlines():
        assert len(line) <= width
        assert not re.search(r"\w-$", line), line
        assert not re.search(r"<(str|int|float|list)[ \[>]", line), line


@pytest.mark.parametrize("name", NAMES)
def test_help_of_options_is_written_in_one_voice(name: str) -> None:
    """A value is named by what it is, a flag by what it does: "Id of the run", "Remove each image"."""
    for flag, told, acts in options(name):
        assert told, f"{flag} says nothing"
        assert len(told) <= LONGEST, f"{flag}: {told}"
        assert re.match(r"[A-Z][^.]", told), f"{flag}: {told}"
        assert told.endswith((".", "..."))
        assert "  " not in told
        assert not told.startswith(("The ", "A ", "An ", "If ", "Whether ")), f"{flag}: {told}"
        if not acts and flag.endswith("-sec"):
            assert "econds" in told, f"{flag} names no unit: {told}"
        if not acts and flag.endswith("-usd"):
            assert "USD" in told, f"{flag} names no unit: {told}"


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_another_variable_decides_names_it(name: str) -> None:
    for flag, told, _ in options(name):
        if flag in variables.HISTORICAL:
            assert variables.HISTORICAL[flag] in told


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_every_command_stands_under_a_heading(name: str) -> None:
    assert panel_of(command_of(name)) in PANELS


@pytest.mark.parametrize("name", ["", "programbench"])
def test_an_overview_is_grouped_by_what_an_operator_does_with_one_line_a_command(name: str) -> None:
    text = page(name)
    headings = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert headings == ["Options", *(panel for panel in PANELS if panel in headings)]
    for each in command_of(name).commands:
        [line] = [line for line in text.splitlines() if line.startswith(f"  {each} ")]
        assert line.endswith("."), line


ENDS_IN = {
    "programbench run": "programbench/run.py",
    "programbench export": "programbench/exporting/export.py",
    "programbench prepare": "programbench/preparing/prepare.py",
    "programbench eval": "programbench/evaluating/evaluate.py",
    "programbench gate": "programbench/gating/gate.py",
    "programbench gc": "cli/gc.py",
    "programbench cancel": "cli/cancel.py",
    "attest": "cli/attest.py",
    "doctor": "cli/doctor.py",
    "exec": "launch/executing/verdict.py",
    "grade swe-bench-pro": "launch/swe_bench_pro/grade.py",
    "campaign run": "launch/campaign/reactions.py",
    "campaign resume": "launch/campaign/reactions.py",
}
"""Where the endings of a command are that no gate decides."""


@pytest.mark.parametrize("name", ENDS_IN)
def test_help_tells_every_status_that_a_command_ends_with(name: str) -> None:
    """Refusals are told as a range; a launcher's own 0 and a crash need no word."""
    source = (Path(obo_bench.__file__).parent / ENDS_IN[name]).read_text(encoding="utf-8")
    ended = {ExitCode[code] for code in re.findall(r"ExitCode\.([A-Z]+)", source)} - {ExitCode.OK, ExitCode.CRASHED}
    epilog = str(command_of(name).epilog)
    ranges = [range(int(first), int(last) + 1) for first, last in re.findall(r"(\d)-(\d)", epilog)]
    told = {int(status) for status in re.findall(r"\d+", epilog)}.union(*ranges)
    assert ended
    assert ended <= told
