"""Whole runs whose container does not stay what it was: the row says so, and nothing goes on in the background."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_run import Bench, docker, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

Serve = Callable[..., str]


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    yield made
    made.sweep()


def disturbed(bench: Bench, url: str, disturb: Callable[[str], None]) -> dict[str, Any]:
    """Run until the agent is at work, do something to its container, and return the row of the run."""
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    disturb(bench.containers()[0])
    out, err = process.communicate(timeout=120)
    assert process.returncode == json.loads(out)["exit_code"] == 1, err.decode()
    return bench.rows()[-1]


def kill(name: str) -> None:
    docker("kill", name)


def test_a_killed_container_ends_its_task_and_the_row_tells_how_it_ended(bench: Bench, serve: Serve) -> None:
    row = disturbed(bench, serve(solve_delay_sec=60), kill)
    assert (row["status"], row["reason_code"]) == ("failed", "executor_lost")
    assert row["details"]["infrastructure"] is True
    assert row["details"]["executor"]["exit_code"] == 137
    assert row["details"]["executor"]["oom_killed"] is False
    assert row["durations"]["solve"] < 30
    assert bench.checkpoint()["status"] in ("running", "cancelled")
    assert not bench.containers()
    assert not bench.volumes()


def test_a_moment_with_a_network_ends_the_task(bench: Bench, serve: Serve) -> None:
    def disturb(name: str) -> None:
        for act, network in (("disconnect", "none"), ("connect", "bridge"), ("disconnect", "bridge")):
            docker("network", act, network, name)
        docker("network", "connect", "none", name)

    row = disturbed(bench, serve(solve_delay_sec=60), disturb)
    assert row["reason_code"] == "executor_lost"
    assert "network 'bridge' was connected at" in row["error"]


def test_a_solve_whose_commands_went_elsewhere_is_not_passed_off_as_clean(bench: Bench, serve: Serve) -> None:
    bench.run(serve(scenario="other-daemon"))
    row = bench.rows()[-1]
    assert row["details"]["degraded"] is True
    assert "none of them reached container" in row["details"]["cleanroom_trouble"]
    assert row["details"]["commands"] == {"started": 0, "out_of_memory": 0, "all_events_seen": True}
    assert row["details"]["tool_errors"][0]["tool"] == "run_command"


def test_an_ordinary_solve_is_clean_and_its_commands_are_counted(bench: Bench, serve: Serve) -> None:
    bench.run(serve())
    details = bench.rows()[-1]["details"]
    assert details["cleanroom_trouble"] is None
    assert details["degraded"] is False
    assert details["commands"]["started"] >= 3
    assert details["commands"]["all_events_seen"] is True
    assert details["tool_errors"] == []
