"""Invariants I1 and I4 at run time: what recorded commands touch before their manifest, and where they may write."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from obo_bench.core.refusals import ExitCode
from tests.conftest import REQUIRE_DOCKER, obo
from tests.guard import traced
from tests.guard.invocations import World, python
from tests.guard.runtime import record
from tests.guard.static import PRODUCT, distinct, recorded_commands
from tests.parity.command_lines import parameters

COMMANDS = [command.name for command in distinct(recorded_commands())]
"""Each recorded command once, also where it has two names."""


@pytest.fixture
def strace() -> None:
    if traced.trouble() and os.environ.get(REQUIRE_DOCKER):
        pytest.fail(f"{REQUIRE_DOCKER} is set and nothing can be traced: {traced.trouble()}")
    if traced.trouble():
        pytest.skip(f"nothing can be traced: {traced.trouble()}")


needs_strace = pytest.mark.usefixtures("strace")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve() / "world").prepare()


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_the_first_acts_happens_before_the_manifest(world: World, command: str) -> None:
    recording = record(world, command, PRODUCT)
    assert recording.recorded, recording.said
    violations = recording.violations()
    assert not violations, "\n".join(map(str, violations))
    imported = {event.arguments[0] for event in recording.events if event.name == "import"}
    assert "obo_bench.core.session" in imported, "the hook saw nothing"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_checkout_that_nobody_may_enter_does_not_keep_the_manifest_back(world: World, command: str) -> None:
    (world.checkout / "VERSION").unlink()
    (world.checkout / ".git").rmdir()
    world.checkout.rmdir()
    os.mkfifo(world.checkout)  # whoever opened it would hang
    recording = record(world, command, PRODUCT)
    assert recording.recorded, recording.said
    assert not recording.violations()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_parser_looks_at_no_path(command: str) -> None:
    """The parser's own type for paths asks the file system about each of them; a function of ours does not."""
    declared = [(parameter.opts, parameter.type_descriptor) for parameter in parameters(command)]
    paths = [(names, told.parameter_info.parser) for names, told in declared if told.annotation is Path]
    assert paths
    assert not [names for names, parser in paths if parser is None]


@needs_strace
@pytest.mark.parametrize("command", COMMANDS)
def test_no_system_call_touches_anything_else(world: World, command: str) -> None:
    trace = traced.trace(world, command, PRODUCT)
    assert trace.recorded
    violations = trace.violations()
    assert not violations, "\n".join(map(str, violations))


@needs_strace
def test_without_a_named_checkout_the_current_directory_is_looked_at_twice_and_no_more(world: World) -> None:
    arguments = [*COMMANDS[0].split(), "--runs-root", str(world.runs), "--run-id", "r"]
    trace = traced.trace(world, COMMANDS[0], PRODUCT, arguments=arguments, cwd=world.checkout)
    assert trace.recorded
    probes = (world.checkout / "VERSION", world.checkout / ".git")
    assert not trace.violations(*probes)
    assert sorted(path for call in trace.violations() for path in call.paths) == sorted(map(str, probes))


def snapshot(directory: Path) -> set[Path]:
    return set(directory.rglob("*"))


def forbidden(world: World) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the ways to lead outputs astray: further arguments (the last of a repeated option holds), environment."""
    link, data, settings = world.base / "link", world.base / "data", world.base / "etc" / "settings.json"
    link.symlink_to(world.checkout)
    data.mkdir()
    settings.parent.mkdir()
    settings.write_text("{}")
    return {
        "in the checkout": (["--runs-root", str(world.checkout / "runs")], {}),
        "through a link": (["--runs-root", str(link / "runs")], {}),
        "through the parent": (["--runs-root", str(world.elsewhere / ".." / "workspace" / "ouroboros")], {}),
        "in the workspace's data": (["--runs-root", str(world.checkout.parent / "data")], {}),
        "in OUROBOROS_DATA_DIR": (["--runs-root", str(data / "runs")], {"OUROBOROS_DATA_DIR": str(data)}),
        "beside the settings": (
            ["--runs-root", str(settings.parent / "runs")],
            {"OUROBOROS_SETTINGS_PATH": str(settings)},
        ),
    }


def refused(world: World, command: str, more: list[str], environ: dict[str, str]) -> tuple[int, str | None, object]:
    done = obo(*world.arguments(command, *more, "--json"), env=environ, cwd=world.elsewhere)
    return done.status, done.envelope["refusal"]["reason"], done.envelope["manifest"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_lands_with_the_server(world: World, command: str) -> None:
    cases = forbidden(world)
    if "--output" in command_help(command).split():
        chosen = ("in the checkout", "through a link", "in OUROBOROS_DATA_DIR")
        cases |= {f"output {name}": (as_output(cases[name][0]), cases[name][1]) for name in chosen}
    before = snapshot(world.base)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda case: refused(world, command, *case), cases.values()))
    expected = (ExitCode.PREFLIGHT, "output_not_confined", None)
    assert dict(zip(cases, answers, strict=True)) == dict.fromkeys(cases, expected)
    assert snapshot(world.base) == before


def command_help(command: str) -> str:
    argv = [*python("-m", "obo_bench"), *command.split(), "--help"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout


def as_output(arguments: list[str]) -> list[str]:
    """Turn a forbidden runs root into a forbidden --output file."""
    place = Path(arguments[1])
    return [
        "--output",
        str(place.parent / "record.json" if place.name == "runs" else place / "record.json"),
        *arguments[2:],
    ]
