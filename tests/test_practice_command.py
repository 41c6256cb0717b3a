"""`obo-bench practice` and its server, as a new user meets them."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from obo_bench.gateway.client import GatewayClient
from obo_bench.practice.tasks import PRACTICE_TASKS
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


@pytest.mark.docker
def test_what_the_solver_gave_up_is_solved_again_by_the_line_that_status_shows(tmp_path: Path) -> None:
    done = obo("practice", "--directory", tmp_path, "--scenario", "agent-failure", "--run-id", "p", "--json")
    assert (done.status, done.envelope["result"]["counts"]["failed"]) == (1, 3)
    shown = obo("programbench", "status", tmp_path / "bench_runs" / "programbench" / "p")
    line = next(line for line in shown.stdout.splitlines() if line.startswith("to solve them again: obo-bench "))
    again = obo(*shlex.split(line.split(" obo-bench ", 1)[1]), "--json")
    assert again.status == 0, again.stderr
    assert again.envelope["result"]["grades"]["pass"] == 3


@pytest.mark.docker
def test_an_interrupted_practice_leaves_no_container(tmp_path: Path) -> None:
    run_root = tmp_path / "bench_runs" / "programbench" / "p"
    argv = ["practice", "--directory", str(tmp_path), "--scenario", "long-command", "--run-id", "p"]
    with subprocess.Popen([sys.executable, "-m", "obo_bench", *argv], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b" is running" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(timeout=60) == 143
    assert json.loads((run_root / "run_manifest.json").read_text())["extra"]["exit_code"] == 143
    nonce = json.loads((run_root / "instance_order.json").read_text())["run_nonce"]
    for kind in (["ps", "-aq"], ["volume", "ls", "-q"]):
        left = subprocess.run(
            ["docker", *kind, "--filter", f"label=obo-bench.nonce={nonce}"], capture_output=True, check=True, timeout=60
        )
        assert left.stdout == b""


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


@contextmanager
def served(directory: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`practice gateway` as a script starts it: its address is the one line on stdout."""
    argv = [sys.executable, "-m", "obo_bench", "practice", "gateway", "--directory", str(directory), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server, server.stdout.readline()
        finally:
            server.kill()


def test_a_script_reads_the_address_from_stdout(tmp_path: Path) -> None:
    with served(tmp_path) as (server, line):
        with GatewayClient(line.removesuffix("\n")) as client:
            assert client.state().ready
        server.send_signal(signal.SIGTERM)
        more, told = server.communicate(timeout=30)
    assert (more, told.splitlines()[0]) == ("", line.strip())


@pytest.mark.parametrize("command", [("practice",), ("practice", "gateway", "--port", "0")])
def test_a_directory_has_one_server_at_a_time(command: tuple[str, ...], tmp_path: Path) -> None:
    with served(tmp_path) as (server, line):
        before = (tmp_path / "data" / "state" / "server_port").read_bytes()
        second = obo(*command, "--directory", tmp_path)
        assert (second.status, second.stdout) == (5, "")
        for said in ("practice_setup_failed", str(tmp_path), f"process {server.pid}", line.strip(), "--directory"):
            assert said in second.stderr
        assert (tmp_path / "data" / "state" / "server_port").read_bytes() == before
        server.kill()
        server.wait()
        assert (tmp_path / "data" / ".stand-in.owner.json").exists(), "it had no time to tidy up"
        with served(tmp_path) as (_, after):
            assert after.startswith("http://")


def test_the_server_alone_tells_lines_that_work_as_they_are_typed(tmp_path: Path) -> None:
    place, program = tmp_path / "a b", f"{shlex.quote(sys.executable)} -m obo_bench"
    argv = [sys.executable, "-m", "obo_bench", "practice", "gateway", "--directory", str(place), "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        told = [server.stderr.readline().strip() for _ in range(4)]
        typed = f"{told[2]}\n{told[3].replace('obo-bench', program, 1)} --run-id r --json"
        environ = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
        done = subprocess.run(["sh", "-c", typed], env=environ, capture_output=True, text=True, timeout=60, check=False)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
    assert told[3].startswith("obo-bench programbench run ")
    assert told[0] in told[3]
    # Server, settings and programs are known; an engine is all that is missing.
    assert (done.returncode, json.loads(done.stdout)["refusal"]["reason"]) == (5, "engine_unreachable")
    manifest = json.loads((place / "bench_runs/programbench/r/run_manifest.json").read_text(encoding="utf-8"))
    assert sorted(manifest["requested_task_ids"]) == sorted(task.instance_id for task in PRACTICE_TASKS)


def test_no_engine_says_what_to_do(tmp_path: Path) -> None:
    done = obo("practice", "--directory", tmp_path / "p", "--json", env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert done.status == 5
    assert json.loads(done.stdout)["refusal"]["reason"] == "engine_unreachable"
    assert "--setup" in done.stderr


def test_a_server_that_moved_to_another_port_says_so(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "obo_bench", "practice", "gateway", "--directory", str(tmp_path), "--port"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        with subprocess.Popen([*argv, str(wanted)], stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            url = server.stderr.readline().strip()
            note = server.stderr.readline()
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=30) == 0
    assert not url.endswith(f":{wanted}")
    assert str(wanted) in note
    assert url in note


@pytest.mark.parametrize("command", [("practice",), ("practice", "gateway", "--port", "0")])
def test_a_directory_that_cannot_be_written_is_refused_at_once(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = obo(*command, "--directory", tmp_path / "file" / "practice")
    assert done.status == 5, done.stderr
    assert "practice_setup_failed" in done.stderr
    assert "--directory" in done.stderr
    assert "Traceback" not in done.stderr
