"""A run whose server is restarted, replaced, or blind: real servers, real Docker, the command as a process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.gateway.client import GatewayClient
from tests.place import Place
from tests.test_run import IID, Bench, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

OTHER = "practice__runlength.0000002"


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    yield made
    made.sweep()


@pytest.fixture
def place(bench: Bench) -> Iterator[Place]:
    made = Place(bench.checkout, bench.data)
    yield made
    made.stop()


def at_work(bench: Bench) -> bool:
    found = bench.root.glob("*/ouroboros_task_checkpoint.json")
    return any(json.loads(checkpoint.read_text())["status"] == "running" for checkpoint in found)


def uptime(url: str) -> float:
    with GatewayClient(url) as client:
        return client.state().uptime or 0.0


def test_a_restart_of_the_same_version_is_recorded_and_not_fatal(bench: Bench, place: Place) -> None:
    bench.chosen = [IID, OTHER]
    url = place.start(solve_delay_sec=60, sha="cafe")
    process = bench.start(url, "--workers", "1")
    until(lambda: at_work(bench))
    # Uptimes are whole seconds, and a start is never quicker than a few: a server that is replaced has been up longer.
    until(lambda: uptime(url) >= 8)
    place.replace(sha="cafe")
    _, told = process.communicate(timeout=120)
    extra = bench.manifest()["extra"]
    assert process.returncode == extra["exit_code"] == 1
    assert extra["outcome"] == "instances_failed"
    assert [row["reason_code"] for row in bench.rows()] == ["cancelled", "submission_prepared"]
    [event] = extra["server_events"]
    assert event["event"] == "restarted"
    assert event["now"]["uptime_sec"] < event["admitted"]["uptime_sec"] + 8
    assert b"the server restarted: its uptime was" in told


@pytest.mark.parametrize(("change", "named"), [({"version": "6.80.0"}, "runtime_version"), ({"sha": "beef"}, "sha")])
def test_another_server_at_the_end_stops_the_run_before_its_evaluation(
    bench: Bench, place: Place, change: dict[str, str], named: str
) -> None:
    process = bench.start(place.start(solve_delay_sec=60, sha="cafe"), "--eval")
    until(lambda: at_work(bench))
    place.replace(**{"sha": "cafe", **change})
    answer, told = process.communicate(timeout=120)
    extra = bench.manifest()["extra"]
    assert process.returncode == extra["exit_code"] == extra["refusal"]["exit_code"] == 7
    assert (extra["outcome"], extra["official_eval_status"]) == ("stopped_provenance", "not_run")
    assert (extra["refusal"]["stage"], extra["refusal"]["reason"]) == ("runtime_attestation", "runtime_changed")
    assert named in extra["refusal"]["message"]
    assert extra["refusal"]["evidence"]["admitted"]["sha"] == "cafe"
    assert [event["event"] for event in extra["server_events"]] == ["changed"]
    assert json.loads(answer)["refusal"] == extra["refusal"]
    assert b"what to do: " in told
    assert len(bench.tasks()) == 1


def test_a_server_that_sees_no_workspace_ends_the_run_before_anything_is_spent(bench: Bench, place: Place) -> None:
    bench.chosen = [IID, OTHER, "practice__colstat.0000003"]
    url = place.start(sees_host_files=False)
    done = bench.run(url, "--workers", "2")
    assert done.status == 5, done.stderr
    extra = done.manifest["extra"]
    assert (extra["outcome"], extra["exit_code"]) == ("refused", 5)
    assert extra["refusal"]["reason"] == done.envelope["refusal"]["reason"] == "workspace_not_visible"
    assert str(bench.root) in extra["refusal"]["message"]
    assert "is not a directory" in extra["refusal"]["message"]
    rows = bench.rows()
    assert sorted(row["instance_id"] for row in rows) == sorted(bench.chosen)
    assert {(row["status"], row["reason_code"]) for row in rows} == {("not_attempted", "workspace_not_visible")}
    assert bench.tasks() == []
    assert not bench.containers()
    assert not bench.volumes()

    place.replace()
    done = bench.run(url)
    assert done.status == 0, done.stderr
    assert len(bench.tasks()) == 3
