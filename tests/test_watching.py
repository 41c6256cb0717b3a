"""The container is watched on the real engine: what happens to it from outside is seen, however quickly it passes."""

import gc
import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.cleanroom import Cleanroom, remove_cleanroom
from obo_bench.engine.cleanroom_spec import CleanroomSpec
from obo_bench.engine.container_events import ContainerEvents
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.settlement import SettledBy
from obo_bench.programbench.solving.executor_watch import ExecutorWatch

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
_numbers = itertools.count()


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, check=True, text=True, timeout=60).stdout.strip()


def until(condition: Callable[[], object], seconds: float = 15) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.05)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = connect_engine()
    yield made
    made.close()


@pytest.fixture
def spec(tmp_path: Path, engine: Engine) -> Iterator[CleanroomSpec]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    made = CleanroomSpec(
        name=f"obo-bench-watch-{os.getpid()}-{next(_numbers)}",
        image=IMAGE,
        workspace=workspace,
        user=f"{os.getuid()}:{os.getgid()}",
        cpus=1,
        memory_bytes=64 * 1024 * 1024,
        ttl_sec=300,
        labels={"obo-bench.run": f"watch-{os.getpid()}", "obo-bench.instance": "x", "obo-bench.nonce": "w"},
    )
    yield made
    remove_cleanroom(engine, made.name, None, made.labels)


@pytest.fixture
def room(engine: Engine, spec: CleanroomSpec) -> Cleanroom:
    return Cleanroom.start(engine, spec)


def facts(room: Cleanroom) -> dict[str, Any]:
    condition = room.examine()
    assert condition is not None
    return dict(condition.facts)


def kill_for_memory(name: str) -> None:
    """Let the kernel choose the container's first process, not the one that takes the memory."""
    init = docker("inspect", "-f", "{{.State.Pid}}", name)
    children = Path(f"/proc/{init}/task/{init}/children").read_text().split()
    for process in [init, *children]:
        Path(f"/proc/{process}/oom_score_adj").write_text("1000")
    take_memory(name, "for _ in 1 2 3 4 5 6 7 8; do tail /dev/zero & done; wait")


def take_memory(name: str, script: str = "tail /dev/zero") -> None:
    subprocess.run(["docker", "exec", name, "sh", "-c", script], capture_output=True, timeout=60, check=False)


ENDS: dict[str, tuple[list[str], str]] = {
    "killed": (["kill"], "it is exited (exit 137)"),
    "stopped": (["stop", "-t", "1"], "it is exited (exit 143)"),
    "removed": (["rm", "-f"], "it does not exist any more"),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_seen_with_its_exit_detail(room: Cleanroom, end: str) -> None:
    assert room.trouble() is None
    command, said = ENDS[end]
    docker(*command, room.spec.name)
    assert (room.trouble() or "").startswith(said)
    if end != "removed":
        assert facts(room)["exit_code"] in (137, 143)
        assert facts(room)["oom_killed"] is False
        assert facts(room)["finished_at"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can tell the kernel whom to choose")
def test_an_end_for_want_of_memory_is_seen_with_the_flag(room: Cleanroom) -> None:
    kill_for_memory(room.spec.name)
    until(room.trouble)
    assert "out of memory" in (room.trouble() or "")
    assert facts(room)["oom_killed"] is True


def test_a_command_that_takes_too_much_memory_is_the_agents_own_and_only_counted(room: Cleanroom) -> None:
    take_memory(room.spec.name)
    until(lambda: room.trace.out_of_memory)
    assert room.trouble() is None


def test_a_restart_between_two_looks_is_seen(room: Cleanroom) -> None:
    docker("restart", "-t", "0", room.spec.name)
    assert "it was started anew" in (room.trouble() or "")


def test_a_network_is_seen(room: Cleanroom) -> None:
    docker("network", "disconnect", "none", room.spec.name)
    docker("network", "connect", "bridge", room.spec.name)
    assert "its network is 'none' ['bridge']" in (room.trouble() or "")
    assert facts(room)["networks"] == ["bridge"]


def test_a_network_that_came_and_went_between_two_looks_is_seen(room: Cleanroom) -> None:
    docker("network", "disconnect", "none", room.spec.name)
    docker("network", "connect", "bridge", room.spec.name)
    docker("network", "disconnect", "bridge", room.spec.name)
    docker("network", "connect", "none", room.spec.name)
    until(lambda: room.trace.networks)
    assert (room.trouble() or "").startswith("network 'bridge' was connected at 2")


def test_networks_of_other_containers_are_not_ours(room: Cleanroom) -> None:
    other = docker("run", "-d", "--rm", "--entrypoint", "sleep", IMAGE, "30")
    docker("rm", "-f", other)
    docker("exec", room.spec.name, "true")
    until(lambda: room.trace.commands)
    assert room.trouble() is None


def test_a_workspace_that_is_replaced_or_gone_is_seen(room: Cleanroom) -> None:
    room.spec.workspace.rename(room.spec.workspace.with_name("aside"))
    assert "does not exist any more" in (room.trouble() or "")
    room.spec.workspace.mkdir()
    assert "is another directory than the one that was mounted" in (room.trouble() or "")


def test_a_directory_that_only_changed_its_number_is_the_same(room: Cleanroom, monkeypatch: pytest.MonkeyPatch) -> None:
    inode = room.spec.workspace.stat().st_ino
    monkeypatch.setattr("obo_bench.engine.cleanroom.directory_identity", lambda _: f"99:{inode}")
    assert room.trouble() is None


def test_a_workspace_replaced_while_nobody_looked_is_not_taken_up_again(engine: Engine, room: Cleanroom) -> None:
    room.spec.workspace.rename(room.spec.workspace.with_name("aside"))
    room.spec.workspace.mkdir()
    assert Cleanroom.find(engine, room.spec) is None


def test_a_short_pause_is_forgiven_and_a_long_one_is_not(room: Cleanroom) -> None:
    with GatewayClient("http://127.0.0.1:9") as nobody:
        watch = ExecutorWatch(room, nobody, SilentReporter(), begun=False, paused_sec=0.5)
        docker("pause", room.spec.name)
        assert watch.look("t") is None
        docker("unpause", room.spec.name)
        assert watch.look("t") is None
        time.sleep(0.6)
        docker("pause", room.spec.name)
        assert watch.look("t") is None
        time.sleep(0.6)
        trouble = watch.look("t")
        at_end = watch.at_end("t")
    assert trouble is not None
    assert (trouble.by, trouble.detail) == (SettledBy.EXECUTOR_LOST, "it has been paused for 0 s")
    assert at_end is not None
    assert at_end.detail == "it is paused"


def test_commands_of_others_are_told_from_ours(room: Cleanroom) -> None:
    assert room.run("exit 7") == 7
    assert room.tells_of_commands()
    assert room.trace.commands == 0
    docker("exec", room.spec.name, "true")
    until(lambda: room.trace.commands == 1)


def test_a_command_may_print_any_amount(room: Cleanroom) -> None:
    assert room.run("head -c 500000000 /dev/zero; exit 3", timeout_sec=60) == 3


def test_a_gap_in_the_events_is_known(engine: Engine, room: Cleanroom) -> None:
    assert room.trace.complete
    engine.events._hang_up()
    until(lambda: not room.trace.complete)
    assert not room.tells_of_commands()
    assert room.trouble() is None


# The SDK leaves the socket that it could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_tells_nothing_leaves_the_trace_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("obo_bench.engine.container_events._OPEN_SEC", 0.3)
    client = DockerClient(base_url=f"unix://{tmp_path}/none.sock", version="1.41")
    events = ContainerEvents(client)
    assert events.follow("x").complete is False
    events.close()
    client.close()
    del events, client
    gc.collect()


STRANGE: list[Any] = [
    None,
    "text",
    {},
    {"timeNano": "x", "Actor": {}},
    {"timeNano": 1, "Actor": None},
    {"timeNano": 1, "Actor": {"ID": "ours", "Attributes": None}, "Type": "container", "Action": "oom"},
    {"timeNano": 1, "Actor": {"ID": "n", "Attributes": {}}, "Type": "network", "Action": "connect"},
    {"timeNano": 1, "Actor": {"ID": "foreign", "Attributes": {}}, "Type": "container", "Action": "oom"},
]


def test_events_of_another_shape_or_container_are_passed_over(engine: Engine) -> None:
    trace = engine.events.follow("ours")
    for event in STRANGE:
        engine.events._note(event)
    assert (trace.networks, trace.commands, trace.out_of_memory) == ([], 0, 0)


def test_events_that_come_again_after_a_reconnection_count_once(engine: Engine) -> None:
    trace = engine.events.follow("ours")
    event = {"timeNano": 1 << 62, "Actor": {"ID": "ours", "Attributes": {}}, "Type": "container", "Action": "oom"}
    engine.events._note(event)
    engine.events._note(event)
    assert trace.out_of_memory == 1
