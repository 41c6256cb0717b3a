"""Which daemon, pulls against a real registry protocol, and a cleanroom that is what it claims to be."""

import gc
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from docker.errors import APIError

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.cleanroom import Cleanroom, remove_cleanroom
from obo_bench.engine.cleanroom_spec import CleanroomSpec
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.engine.endpoint import candidate_endpoints
from obo_bench.engine.images import PULL_WAITS_SEC, ImageUnavailable, ensure_image, find_image, pull_failure
from obo_bench.engine.inspection import differences
from tests.conftest import answering

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"


def context(home: Path, name: str, host: str, *, current: bool) -> None:
    store = home / ".docker" / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    store.mkdir(parents=True)
    (store / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))
    if current:
        (home / ".docker" / "config.json").write_text(json.dumps({"currentContext": name}))


def test_docker_host_comes_first(tmp_path: Path) -> None:
    context(tmp_path, "colima", "unix:///colima.sock", current=True)
    assert candidate_endpoints({"DOCKER_HOST": "tcp://x:1", "DOCKER_CONTEXT": "colima"}, tmp_path) == ["tcp://x:1"]


def test_then_the_context_by_variable_then_by_configuration(tmp_path: Path) -> None:
    context(tmp_path, "colima", "unix:///colima.sock", current=True)
    context(tmp_path, "other", "unix:///other.sock", current=False)
    assert candidate_endpoints({}, tmp_path) == ["unix:///colima.sock"]
    assert candidate_endpoints({"DOCKER_CONTEXT": "other"}, tmp_path) == ["unix:///other.sock"]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    context(moved, "third", "unix:///third.sock", current=True)
    assert candidate_endpoints({"DOCKER_CONFIG": str(moved / ".docker")}, tmp_path) == ["unix:///third.sock"]


def test_then_the_usual_sockets_that_exist(tmp_path: Path) -> None:
    for place in (".colima/default", ".rd", "run"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "docker.sock").touch()
    found = candidate_endpoints({"DOCKER_CONTEXT": "default", "XDG_RUNTIME_DIR": str(tmp_path / "run")}, tmp_path)
    assert [f"unix://{tmp_path}/{p}/docker.sock" for p in (".colima/default", ".rd", "run")] == [
        name for name in found if str(tmp_path) in name
    ]


# The SDK leaves the socket that it could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_answers(tmp_path: Path) -> None:
    with pytest.raises(PreflightRefused) as refused:
        connect_engine({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert refused.value.reason == "engine_unreachable"
    assert f"{tmp_path}/none.sock" in refused.value.message
    del refused
    gc.collect()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("toomanyrequests: You have reached your pull rate limit", "image_pull_rate_limited"),
        ("received unexpected HTTP status: 429 Too Many Requests", "image_pull_rate_limited"),
        ("manifest for x:y not found: manifest unknown", "image_not_found"),
        ("pull access denied for x, repository does not exist", "image_not_found"),
        ("net/http: TLS handshake timeout", "image_pull_failed"),
    ],
)
def test_why_a_pull_failed(text: str, reason: str) -> None:
    assert pull_failure(text) == reason


@contextmanager
def registry(status: int, body: dict[str, object]) -> Iterator[str]:
    """A registry on loopback that gives one answer to every question about images."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.rstrip("/") == "/v2"
            data = json.dumps({} if known else body).encode()
            self.send_response(200 if known else status)
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        yield host


def error(code: str, message: str) -> dict[str, object]:
    return {"errors": [{"code": code, "message": message}]}


@pytest.mark.docker
def test_a_rate_limit_is_waited_for_with_growing_pauses(engine: Engine) -> None:
    pauses: list[float] = []
    limited = registry(429, error("TOOMANYREQUESTS", "You have reached your pull rate limit"))
    with limited as host, pytest.raises(ImageUnavailable) as raised:
        ensure_image(engine, f"{host}/some/image:v6", "missing", SilentReporter(), wait=pauses.append)
    assert raised.value.reason == "image_pull_rate_limited"
    assert tuple(pauses) == PULL_WAITS_SEC


@pytest.mark.docker
def test_an_image_that_does_not_exist_is_not_waited_for(engine: Engine) -> None:
    pauses: list[float] = []
    with (
        registry(404, error("MANIFEST_UNKNOWN", "manifest unknown")) as host,
        pytest.raises(ImageUnavailable) as raised,
    ):
        ensure_image(engine, f"{host}/some/image:v6", "missing", SilentReporter(), wait=pauses.append)
    assert raised.value.reason == "image_not_found"
    assert pauses == []


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
def test_a_present_image_is_taken_as_it_is_and_known_by_its_id(engine: Engine) -> None:
    found = ensure_image(engine, IMAGE, "missing", SilentReporter())
    assert found == find_image(engine, IMAGE)
    assert found.id.startswith("sha256:")


@pytest.fixture
def spec(tmp_path: Path, engine: Engine) -> Iterator[CleanroomSpec]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    made = CleanroomSpec(
        name=f"obo-bench-test-{os.getpid()}",
        image=IMAGE,
        workspace=workspace,
        user=f"{os.getuid()}:{os.getgid()}",
        cpus=1,
        memory_bytes=256 * 1024 * 1024,
        ttl_sec=300,
        labels={"obo-bench.run": f"test-{os.getpid()}", "obo-bench.instance": "x", "obo-bench.nonce": "n"},
    )
    yield made
    remove_cleanroom(engine, made.name, None, made.labels)


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
class TestCleanroom:
    def test_it_is_what_was_asked_for(self, engine: Engine, spec: CleanroomSpec) -> None:
        Cleanroom.start(engine, spec)
        attrs = engine.client.containers.get(spec.name).attrs
        host = attrs["HostConfig"]
        assert host["NetworkMode"] == "none"
        assert host["Init"] is True
        assert host["PidsLimit"] == 4096
        assert host["NanoCpus"] == 10**9
        assert host["Memory"] == host["MemorySwap"] == spec.memory_bytes
        assert {"SYS_PTRACE", "DAC_OVERRIDE"} <= {name.removeprefix("CAP_") for name in host["CapDrop"]}
        assert attrs["Config"]["Cmd"] == ["300"]
        assert differences(attrs, spec) == []
        assert "it runs as" in differences(attrs, replace(spec, user="4242:4242"))[0]

    def test_a_network_is_noticed(self, engine: Engine, spec: CleanroomSpec) -> None:
        container = engine.client.containers.create(
            spec.image, entrypoint=["sleep"], command=["60"], name=spec.name, labels=dict(spec.labels)
        )
        container.start()
        container.reload()
        found = " ".join(differences(container.attrs, spec))
        assert "its network is" in found
        assert "nothing is mounted" in found
        assert Cleanroom.find(engine, spec) is None

    def test_its_end_is_noticed_and_an_unfit_one_is_removed(self, engine: Engine, spec: CleanroomSpec) -> None:
        room = Cleanroom.start(engine, replace(spec, ttl_sec=1))
        give_up = threading.Event()
        for _ in range(50):
            if room.trouble():
                break
            give_up.wait(0.1)
        assert "it is exited" in (room.trouble() or "")
        remove_cleanroom(engine, spec.name, None, spec.labels)
        assert room.trouble() == "it does not exist any more"

    def test_commands_in_it_are_bounded(self, engine: Engine, spec: CleanroomSpec) -> None:
        room = Cleanroom.start(engine, spec)
        assert room.run("echo hello") == 0
        assert room.run("sleep 30", timeout_sec=1) == 124

    def test_its_time_to_live_can_begin_anew(self, engine: Engine, spec: CleanroomSpec) -> None:
        room = Cleanroom.start(engine, spec)
        before = engine.client.containers.get(spec.name).attrs["State"]["StartedAt"]
        room.renew()
        assert engine.client.containers.get(spec.name).attrs["State"]["StartedAt"] > before
        assert room.trouble() is None

    def test_what_fails_at_the_start_leaves_nothing(self, engine: Engine, spec: CleanroomSpec) -> None:
        with pytest.raises(APIError, match="no-such-user"):
            Cleanroom.start(engine, replace(spec, user="no-such-user"))
        assert engine.client.containers.list(all=True, filters={"name": spec.name}) == []

    def test_foreign_containers_are_not_touched(self, engine: Engine, spec: CleanroomSpec) -> None:
        Cleanroom.start(engine, spec)
        remove_cleanroom(engine, spec.name, None, {"obo-bench.run": "somebody else"})
        assert engine.client.containers.get(spec.name).status == "running"
