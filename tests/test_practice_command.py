"""`obo-bench practice` and its server, as a new user meets them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.gateway.client import GatewayClient
from tests.conftest import obo


@pytest.mark.docker
def test_a_partial_scenario_is_graded_and_resumed(tmp_path: Path) -> None:
    place = tmp_path / "practice"
    arguments = ("practice", "--directory", place, "--scenario", "partial", "--run-id", "p", "--json")
    done = obo(*arguments)
    assert done.status == 0, done.stderr
    assert "mean nothing" in done.stderr
    assert done.manifest["extra"]["outcome"] == "completed"
    grades = done.envelope["result"]["grades"]
    assert (grades["requested"], grades["fail"], grades["ungraded"]) == (3, 3, 0)
    assert all(0 < score < 1 for score in grades["scores"].values())
    assert len({path.name for path in (place / "bench_runs/programbench/p").glob("practice__*")}) == 3

    tasks = (place / "data" / "tasks.jsonl").read_text()
    again = obo(*arguments)
    assert again.status == 0
    assert again.envelope["result"]["counts"]["skipped"] == 3
    assert (place / "data" / "tasks.jsonl").read_text() == tasks


def test_an_unknown_scenario_is_a_usage_error(tmp_path: Path) -> None:
    done = obo("practice", "--directory", tmp_path / "p", "--scenario", "silly")
    assert done.status == 2
    assert "silly" in done.stderr
    assert "solved" in done.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_server_alone(tmp_path: Path, signum: int) -> None:
    argv = [sys.executable, "-m", "obo_bench", "practice", "gateway", "--directory", str(tmp_path), "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, env=dict(os.environ), text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        with GatewayClient(url) as client:
            assert client.health().runtime_version == "6.75.0"
            assert client.state().ready
        server.send_signal(signum)
        assert server.wait(timeout=30) == 0


def test_no_engine_says_what_to_do(tmp_path: Path) -> None:
    done = obo("practice", "--directory", tmp_path / "p", "--json", env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert done.status == 5
    assert json.loads(done.stdout)["refusal"]["reason"] == "engine_unreachable"
    assert "--setup" in done.stderr
