"""Trouble that holds for every instance ends the admission, not the record: engine gone, disks full, the same again."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine import trouble
from obo_bench.engine.bounded import EngineSilent, bounded
from obo_bench.engine.daemon import connect_engine
from obo_bench.engine.disk import Disk, disk_of, engine_disk
from obo_bench.engine.trouble import engine_silence, is_disk_full
from obo_bench.programbench.admission import disk_room
from obo_bench.programbench.admission.disk_room import GIB, DiskRoom, require_disk_room
from tests.test_run import IID, Bench, until

Serve = Callable[..., str]
THREE = [IID, "practice__runlength.0000002", "practice__colstat.0000003"]
docker_runs = pytest.mark.usefixtures("practice_images")


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    made.chosen = list(THREE)
    yield made
    made.sweep()


class Relay:
    """A socket of its own before the real engine; it can be taken away, as a daemon that dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def die(self) -> None:
        self.path.unlink(missing_ok=True)
        for one in [self._server, *self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect("/var/run/docker.sock")
                self._open += [client, engine]
                for source, sink in ((client, engine), (engine, client)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def relayed() -> Iterator[Relay]:
    # A socket's path may be 107 bytes long at most.
    directory = Path("/tmp") / f"obo-relay-{os.getpid()}-{time.monotonic_ns()}"
    directory.mkdir(mode=0o700)
    relay = Relay(directory / "s")
    try:
        yield relay
    finally:
        relay.die()
        shutil.rmtree(directory)


@pytest.mark.docker
@docker_runs
def test_an_engine_that_dies_stops_the_run_and_leaves_the_running_task_to_be_fetched(
    bench: Bench, serve: Serve
) -> None:
    url = serve(solve_delay_sec=20.0)
    with relayed() as relay:
        bench.env["DOCKER_HOST"] = f"unix://{relay.path}"
        process = bench.start(url)
        until(lambda: bench.tasks() and len(bench.containers()) == 1)
        relay.die()
        _, told = process.communicate(timeout=200)
    extra = bench.manifest()["extra"]
    assert (process.returncode, extra["outcome"], extra["exit_code"]) == (7, "stopped_systemic", 7), told
    reasons = [row["reason_code"] for row in bench.rows()]
    # The first was at work and is packaged, for its files are here; the second finds no engine, the third is spared.
    assert reasons == ["submission_prepared", "engine_unreachable", "stopped_systemic"]
    assert bench.rows()[1]["status"] == "blocked"
    del bench.env["DOCKER_HOST"]
    assert bench.run(url).status == 0
    assert len(bench.tasks()) == len(set(bench.tasks())) == 3


@pytest.mark.docker
@docker_runs
def test_the_same_infrastructure_reason_again_and_again_stops_the_run(bench: Bench, serve: Serve) -> None:
    done = bench.run(serve(scenario="infra"))
    assert done.status == 7
    assert done.manifest["extra"]["outcome"] == "stopped_systemic"
    assert "3 instances in a row" in done.manifest["harness"]["stopped"]
    assert done.manifest["extra"]["official_eval_status"] == "not_requested"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts of a size; only root can make them."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        place = tmp_path / f"small-{len(mounted)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.decode()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=False)


@pytest.mark.docker
@docker_runs
def test_too_little_room_refuses_before_anything_is_spent(
    bench: Bench, serve: Serve, small_disk: Callable[[str], Path]
) -> None:
    bench.runs = small_disk("64m")
    bench.root = bench.runs / "programbench" / "r"
    done = bench.run(serve())
    assert done.status == 5
    refusal = done.envelope["refusal"]
    assert refusal["reason"] == "engine_disk_low"
    assert "1.0 GiB are needed" in refusal["message"]
    assert refusal["evidence"]["engine"]["estimate_bytes"] > refusal["evidence"]["engine"]["floor_bytes"]
    assert bench.tasks() == []


@pytest.mark.docker
@docker_runs
@pytest.mark.parametrize("left_mib", [100, 0])
def test_a_disk_that_fills_up_stops_the_run_and_what_runs_is_still_fetched(
    bench: Bench, serve: Serve, small_disk: Callable[[str], Path], left_mib: int
) -> None:
    bench.runs = small_disk("1150m")
    bench.root = bench.runs / "programbench" / "r"
    bench.instance = bench.root / THREE[1]
    url = serve(solve_delay_sec=6.0)
    process = bench.start(url)
    until(bench.tasks)
    filler = bench.runs / "filler"
    free = disk_of(bench.runs).free_bytes
    assert free is not None
    with filler.open("wb") as stream, suppress(OSError):
        for _ in range((free >> 20) + 1 - left_mib):
            stream.write(bytes(1 << 20))
    _, told = process.communicate(timeout=120)
    assert process.returncode in ((7,) if left_mib else (5, 7)), told.decode()
    assert len(bench.tasks()) == 1
    if left_mib:
        reasons = [row["reason_code"] for row in bench.rows()]
        assert reasons == ["submission_prepared", "engine_disk_low", "stopped_systemic"]
        assert bench.manifest()["extra"]["outcome"] == "stopped_systemic"
    filler.unlink()
    assert bench.run(url).status == 0
    assert len(bench.tasks()) == len(set(bench.tasks())) == 3


def test_a_disk_is_that_of_the_nearest_directory_that_exists(tmp_path: Path) -> None:
    found = disk_of(tmp_path / "not" / "there")
    assert found.free_bytes == disk_of(tmp_path).free_bytes
    assert found.path == str(tmp_path / "not" / "there")


class Info:
    """An engine that says this of itself."""

    def __init__(self, endpoint: str = "unix:///x.sock", **said: Any) -> None:
        self.endpoint, self.client, self._said = endpoint, self, said

    def info(self) -> dict[str, Any]:
        return {"KernelVersion": os.uname().release, "DockerRootDir": "/", **self._said}


@pytest.mark.parametrize(
    ("engine", "known"),
    [
        (Info(), True),
        (Info("tcp://far:2375"), False),
        (Info("ssh://far"), False),
        (Info(KernelVersion="5.10.0-linuxkit"), False),
        (Info(DockerRootDir="/no/such/place"), False),
    ],
)
def test_the_engines_disk_is_looked_at_only_where_it_is_here(engine: Info, known: bool) -> None:
    found = engine_disk(cast("Any", engine))
    assert (found.free_bytes is not None) is known
    assert bool(found.unknown) is not known


@pytest.mark.docker
def test_the_estimate_grows_with_workers_and_with_images_to_pull_and_is_told_when_it_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = connect_engine()
    images = [f"obo-test.invalid/no/{number}:x" for number in range(200)]

    def estimate(workers: int, *, keep: bool) -> int:
        _, facts, _ = require_disk_room(engine, tmp_path, images, workers=workers, keep_images=keep)
        return int(facts["engine"]["estimate_bytes"])

    try:
        assert estimate(1, keep=False) < estimate(2, keep=False) < estimate(2, keep=True)
        monkeypatch.setattr(disk_room, "engine_disk", lambda _: Disk("/d", 6 * GIB))
        _, _, notices = require_disk_room(engine, tmp_path, images, workers=1, keep_images=True)
        assert "--rm-images" in notices[0]
        monkeypatch.setattr(disk_room, "engine_disk", lambda _: Disk("", None, "it is elsewhere"))
        _, facts, notices = require_disk_room(engine, tmp_path, images, workers=1, keep_images=True)
        assert facts["engine"]["free_bytes"] is None
        assert "it is elsewhere" in notices[0]
        monkeypatch.setattr(disk_room, "engine_disk", lambda _: Disk("/d", 4 * GIB))
        with pytest.raises(PreflightRefused, match=r"5\.0 GiB are needed"):
            require_disk_room(engine, tmp_path, images, workers=1, keep_images=True)
    finally:
        engine.close()


def test_the_room_is_looked_at_again_before_each_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = DiskRoom(tmp_path, tmp_path)
    assert room.shortage() is None
    monkeypatch.setattr(disk_room, "ENGINE_FLOOR", 1 << 60)
    assert "for the engine" in str(room.shortage())
    assert DiskRoom(tmp_path, None).shortage() is None


def test_an_engine_that_comes_back_was_only_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restarting:
        client: Any
        asked = 0

        def ping(self) -> bool:
            self.asked += 1
            if self.asked < 3:
                raise ConnectionError("refused")
            return True

    engine = Restarting()
    engine.client = engine
    assert engine_silence(cast("Any", engine), lambda _: None) is None
    monkeypatch.setattr(trouble, "PATIENCE_SEC", 0.0)
    engine.asked = -100
    assert engine_silence(cast("Any", engine), lambda _: None) == "refused"


def test_a_call_that_hangs_is_left_behind() -> None:
    release = threading.Event()
    with pytest.raises(EngineSilent, match="ping"):
        bounded(0.1, lambda: release.wait(20), "ping")
    release.set()
    assert bounded(5, lambda: 7, "seven") == 7
    with pytest.raises(ZeroDivisionError):
        bounded(5, lambda: 1 // 0, "nothing")


def test_a_full_disk_is_known_behind_any_other_error() -> None:
    from docker.errors import APIError

    def wrapped(cause: Exception) -> Exception:
        error = RuntimeError("it failed")
        error.__cause__ = cause
        return error

    assert is_disk_full(wrapped(OSError(28, "No space left on device")))
    assert is_disk_full(wrapped(APIError("write /x: no space left on device")))
    assert not is_disk_full(wrapped(OSError(13, "Permission denied")))
    assert not is_disk_full(RuntimeError("the agent says: no space left on device"))
