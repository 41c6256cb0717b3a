"""`$?`, the manifest's exit_code and the envelope's agree for every recorded command, whatever way it ends.

A new command is picked up by itself; `python -m tests.parity` prints the table.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import typer

from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import STAGE_EXIT_CODES
from tests.conftest import docker_trouble
from tests.parity import command_lines
from tests.parity.table import NEED_ENGINE, Taken, cells, taken
from tests.parity.ways import WAYS, Way
from tests.parity.world import Ended

STATUSES: dict[str, set[int]] = {
    "completed": {0},
    "dry_run": {0},
    "instances_failed": {1},
    "nothing_exported": {1},
    "gate_no_go": {1},
    "official_eval_error": {6},
    "gate_inconclusive": {6},
    "stopped_provenance": {7},
    "stopped_systemic": {7},
    "stopped_budget": {8},
    "refused": {int(code) for code in STAGE_EXIT_CODES.values()},
    "crashed": {70},
    "interrupted": {129, 130, 143},
    "child_failed": set(range(1, 256)) - {70},
}
WITH_ERROR = {"crashed", "interrupted", "child_failed"}


def needs_engine(command: str, name: str) -> bool:
    return WAYS[name].succeeds and command in NEED_ENGINE


def marked() -> list[Any]:
    return [
        pytest.param(*cell, marks=[pytest.mark.docker] if needs_engine(*cell) else [], id=": ".join(cell))
        for cell in cells()
    ]


@pytest.fixture(scope="module")
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, practice_env: dict[str, str]
) -> Iterator[Taken]:
    """All chosen ways out, under way at the same time."""
    chosen = [
        (str(item.callspec.params["command"]), str(item.callspec.params["name"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_every_way_out_of_every_command"
    ]
    on_engine = [cell for cell in chosen if needs_engine(*cell)]
    if on_engine and not docker_trouble():
        request.getfixturevalue("practice_images")
        on_engine = []
    with taken(
        [cell for cell in chosen if cell not in on_engine], tmp_path_factory.mktemp("parity"), practice_env
    ) as table:
        yield table


@pytest.mark.parametrize(("command", "name"), marked())
def test_every_way_out_of_every_command(command: str, name: str, ended: Taken) -> None:
    way, found = WAYS[name], ended[command, name].result()
    assert found.status == way.status, found.stderr
    if way.outcome or way.succeeds:
        assert_recorded(way, found)
    else:
        # At most a record that was begun before the disk was full.
        assert [manifest["extra"]["outcome"] for manifest in found.manifests] in ([], ["started"])
    if way.envelope:
        assert_answered(way, found)
    if way.reason and "2>" not in way.streams:
        assert way.reason in found.stderr


def assert_recorded(way: Way, found: Ended) -> None:
    [manifest] = found.manifests
    extra = manifest["extra"]
    assert extra["exit_code"] == found.status
    assert extra["outcome"] == way.outcome or (way.succeeds and extra["outcome"] in {"completed", "dry_run"})
    assert extra["finished_at_unix"] >= manifest["created_at_unix"]
    assert_fits(extra, way.reason)


def assert_answered(way: Way, found: Ended) -> None:
    envelope = json.loads(found.stdout)
    assert envelope["exit_code"] == found.status
    assert_fits(envelope, way.reason)
    if way.outcome:
        extra = found.manifests[0]["extra"]
        told = ("outcome", "exit_code", "refusal", "error")
        assert {name: envelope[name] for name in told} == {name: extra[name] for name in told}
    else:
        assert (envelope["manifest"] is None) == (not way.succeeds)


def assert_fits(told: dict[str, Any], reason: str | None) -> None:
    """Status, outcome, refusal and error tell one story."""
    assert told["exit_code"] in STATUSES[told["outcome"]]
    assert bool(told["refusal"]) == (told["outcome"] == "refused")
    assert bool(told["error"]) == (told["outcome"] in WITH_ERROR)
    if reason:
        assert told["refusal"]["reason"] == reason
        assert told["exit_code"] == STAGE_EXIT_CODES[REASONS[reason].stage]
        assert told["refusal"]["message"]
        assert told["refusal"]["remedy"]
    elif told["error"]:
        assert told["error"]["type"]


def test_a_new_command_with_a_required_option_is_picked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)

    @app.command("fresh")
    def fresh(
        path: str, json_: Annotated[bool, typer.Option("--json")], colour: Annotated[str, typer.Option()]
    ) -> None:
        pass

    monkeypatch.setattr(command_lines, "app", app)
    values: dict[str, str | None] = {"--json": None, "PATH": "x"}
    with pytest.raises(AssertionError, match=r"`fresh` requires --colour: add it to good_values\(\)"):
        command_lines.command_line("fresh", values)
    assert command_lines.command_line("fresh", {**values, "--colour": "red"}) == [
        "fresh",
        "--json",
        "--colour",
        "red",
        "x",
    ]
