"""A task on the stand-in server and a container on the real engine: each way for the two to part."""

import itertools
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.cleanroom import Cleanroom, remove_cleanroom
from obo_bench.engine.cleanroom_spec import CleanroomSpec
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.lifecycle import TaskLife
from obo_bench.gateway.settlement import SettledBy, Settlement
from obo_bench.programbench.solving.executor_watch import ExecutorWatch
from tests.conftest import git

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
Serve = Callable[..., str]
_numbers = itertools.count()


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, check=True, text=True, timeout=60).stdout.strip()


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.05)


class Case:
    """One task, its container, and the watch over both."""

    def __init__(self, engine: Engine, tmp_path: Path, url: str) -> None:
        workspace = tmp_path / "agent"
        workspace.mkdir()
        git(workspace, "init", "-q")
        number = f"{os.getpid()}-{next(_numbers)}"
        self.engine, self.task_id = engine, f"obo-executor-{number}"
        self.room = Cleanroom.start(
            engine,
            CleanroomSpec(
                name=f"obo-bench-executor-{number}",
                image=IMAGE,
                workspace=workspace,
                user=f"{os.getuid()}:{os.getgid()}",
                cpus=1,
                memory_bytes=64 * 1024 * 1024,
                ttl_sec=400,
                labels={"obo-bench.run": f"e-{number}", "obo-bench.instance": "x", "obo-bench.nonce": "w"},
            ),
        )
        self.client = GatewayClient(url)
        self.checkpoints = CheckpointFile(tmp_path / "checkpoint.json")

    def close(self) -> None:
        self.client.close()
        remove_cleanroom(self.engine, self.room.spec.name, None, self.room.spec.labels)

    def watch(self, *, begun: bool = False, grace_sec: float = 2.0) -> ExecutorWatch:
        return ExecutorWatch(self.room, self.client, SilentReporter(), begun=begun, enough_calls=1, grace_sec=grace_sec)

    def life(self, watch: ExecutorWatch) -> TaskLife:
        stop = threading.Event()
        return TaskLife(self.client, self.checkpoints, SilentReporter(), subject="one", stop=stop, executor=watch)

    def submit(self, life: TaskLife) -> TaskCheckpoint:
        name, workspace = self.room.spec.name, str(self.room.spec.workspace)
        executor = {"type": "docker_exec", "id": name, "container_name": name, "network": "none"}
        executor |= {"workspace_host_path": workspace, "workspace_backend_path": "/workspace"}
        body: dict[str, Any] = {"task_id": self.task_id, "description": "x", "workspace_root": workspace}
        body |= {"memory_mode": "empty", "timeout_sec": 600, "executor_ref": executor}
        return life.submit(body, TaskCheckpoint(task_id=self.task_id))

    def settle(self, **watching: Any) -> Settlement:
        life = self.life(self.watch(**watching))
        return life.watch(self.submit(life), 60)

    def status(self) -> str:
        record = self.client.task(self.task_id)
        return record.status if record else ""


@pytest.fixture
def case(tmp_path: Path, serve: Serve) -> Iterator[Callable[..., Case]]:
    made: list[Case] = []
    engine = connect_engine()

    def make(**config: Any) -> Case:
        made.append(Case(engine, tmp_path, serve(**config)))
        return made[-1]

    yield make
    for each in made:
        each.close()
    engine.close()


def kill_when_at_work(one: Case) -> None:
    until(lambda: one.room.trace.commands > 1)
    docker("kill", one.room.spec.name)


def test_a_container_that_dies_under_the_task_ends_it_at_once(case: Callable[..., Case]) -> None:
    one = case(scenario="long-command", solve_delay_sec=60)
    killer = threading.Thread(target=kill_when_at_work, args=(one,))
    killer.start()
    started = time.monotonic()
    settled = one.settle()
    killer.join()
    assert settled.by is SettledBy.EXECUTOR_LOST
    assert (settled.facts["exit_code"], settled.facts["oom_killed"]) == (137, False)
    assert one.status() == "cancelled"
    assert time.monotonic() - started < 30


def test_a_network_for_a_moment_ends_the_task(case: Callable[..., Case]) -> None:
    one = case(solve_delay_sec=60)
    for act, network in (("disconnect", "none"), ("connect", "bridge"), ("disconnect", "bridge"), ("connect", "none")):
        docker("network", act, network, one.room.spec.name)
    until(lambda: one.room.trace.networks)
    settled = one.settle()
    assert settled.by is SettledBy.EXECUTOR_LOST
    assert "network 'bridge' was connected" in settled.detail
    assert one.status() == "cancelled"


def test_a_server_whose_commands_go_elsewhere_is_found_out(case: Callable[..., Case]) -> None:
    one = case(scenario="other-daemon", solve_delay_sec=60)
    settled = one.settle()
    assert settled.by is SettledBy.EXECUTOR_NOT_REACHED
    assert "1 commands, and none of them reached container" in settled.detail
    assert one.status() == "cancelled"


def test_one_that_had_ended_by_then_is_no_clean_solve(case: Callable[..., Case]) -> None:
    one = case(scenario="other-daemon")
    watch = one.watch(grace_sec=600)
    life = one.life(watch)
    settled = life.watch(one.submit(life), 60)
    assert settled.by is SettledBy.FINAL
    trouble = life.executor_trouble(one.task_id)
    assert trouble is not None
    assert trouble.by is SettledBy.EXECUTOR_NOT_REACHED


def test_commands_that_arrive_are_no_trouble(case: Callable[..., Case]) -> None:
    one = case(solve_delay_sec=5)
    watch = one.watch(grace_sec=0.5)
    life = one.life(watch)
    settled = life.watch(one.submit(life), 60)
    assert settled.by is SettledBy.FINAL
    assert life.executor_trouble(one.task_id) is None
    assert one.room.trace.commands > 0


def test_an_engine_that_does_not_tell_of_commands_raises_no_alarm(
    case: Callable[..., Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case(scenario="other-daemon", solve_delay_sec=8)
    monkeypatch.setattr(one.room, "tells_of_commands", lambda: False)
    life = one.life(one.watch(grace_sec=0.5))
    assert life.watch(one.submit(life), 60).by is SettledBy.FINAL
    assert life.executor_trouble(one.task_id) is None


def test_a_gap_in_the_events_raises_no_alarm(case: Callable[..., Case]) -> None:
    one = case(scenario="other-daemon", solve_delay_sec=8)
    one.room.trace.complete = False
    life = one.life(one.watch(grace_sec=0.5))
    assert life.watch(one.submit(life), 60).by is SettledBy.FINAL


def test_commands_from_before_a_resume_are_not_held_against_the_server(case: Callable[..., Case]) -> None:
    one = case(solve_delay_sec=12)
    submitted = one.submit(one.life(one.watch()))
    until(lambda: one.room.trace.commands)
    one.room.trace.commands = 0
    resumed = one.life(one.watch(begun=True, grace_sec=0.5))
    assert resumed.watch(submitted, 60).by is SettledBy.FINAL


def test_a_command_that_survives_a_cancel_ends_with_the_container(case: Callable[..., Case]) -> None:
    one = case(scenario="long-command")
    life = one.life(one.watch())
    one.submit(life)
    until(lambda: "sleep 300" in docker("top", one.room.spec.name, "-eo", "pid,args"))
    assert one.client.cancel(one.task_id)
    until(lambda: one.status() == "cancelled")
    surviving = [
        line.split()[0]
        for line in docker("top", one.room.spec.name, "-eo", "pid,args").splitlines()
        if line.endswith("sleep 300")
    ]
    assert surviving
    remove_cleanroom(one.engine, one.room.spec.name, None, one.room.spec.labels)
    until(lambda: not any(Path(f"/proc/{process}").exists() for process in surviving))
