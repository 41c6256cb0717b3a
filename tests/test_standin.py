"""The stand-in gateway against the recorded exchanges of a real server, over real sockets."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

import obo_bench
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.images import ensure_images, image_reference
from obo_bench.practice.standin import SCENARIOS, StandIn, StandInConfig, TaskSource
from obo_bench.practice.standin.records import SHUT_DOWN
from obo_bench.practice.tasks import PRACTICE_TASKS, task_by_id

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("data").joinpath("gateway/recorded.json").read_text())
HTTP = httpx.Client(verify=False, timeout=30)
FINAL = ("completed", "failed", "cancelled")
REAL_TASK = PRACTICE_TASKS[0]


@pytest.fixture(scope="module", autouse=True)
def _closed_connections() -> Iterator[None]:
    yield
    HTTP.close()


# ---------------------------------------------------------------- a small practice task and a place to run it


@dataclass(frozen=True)
class EchoProbe:
    argv: tuple[str, ...] = ("a b",)
    stdin: bytes = b"\x00one'\ntwo"


@dataclass(frozen=True)
class EchoTask:
    """A program that shows its arguments and its input, and fails."""

    probes: tuple[EchoProbe, ...] = (EchoProbe(), EchoProbe(stdin=b""), EchoProbe((), b""))

    def solution(self, variant: str) -> Mapping[str, tuple[bytes, int]]:
        build = {
            "solved": "cp src/main.sh executable",
            "partial": "cp src/part.sh executable",
            "broken-build": "exit 3",
        }
        main = b'#!/bin/sh\necho "$@"\ncat\nexit 7\n'
        script = f"#!/bin/sh\n{build[variant]}\nchmod +x executable\n".encode()
        # Reads nothing, and forgets its status when there are no arguments.
        part = b'#!/bin/sh\necho "$@"\n[ $# -eq 0 ] || exit 7\n'
        return {"compile.sh": (script, 0o755), "src/main.sh": (main, 0o644), "src/part.sh": (part, 0o644)}


def echo_task(instance_id: str) -> EchoTask | None:
    return EchoTask() if instance_id.startswith("demo__") else None


@dataclass
class Place:
    """Directories for one server, and the servers started on them."""

    root: Path
    started: list[StandIn] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "repo").mkdir()
        (self.root / "repo" / "VERSION").write_text("6.75.0\nsecond line\n")
        (self.git_dir("workspace") / "notes.txt").write_text("not committed\n")

    def git_dir(self, name: str) -> Path:
        path = self.root / name
        (path / "docs").mkdir(parents=True)
        (path / "docs" / "about.txt").write_text("about\n")
        (path / ".gitignore").write_text("/executable\n/reference_executable\n")
        git = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "seed"]):
            subprocess.run([*git, *arguments], check=True, timeout=30)
        return path

    def config(self, **settings: Any) -> StandInConfig:
        settings = {"finalize_delay_sec": 0.1, **settings}
        return StandInConfig(self.root / "repo", self.root / "data", **settings)

    def start(self, task_source: TaskSource = echo_task, **settings: Any) -> str:
        self.started.append(StandIn(self.config(**settings), task_source))
        return self.started[-1].start()

    def body(self, container: str = "obo-bench-no-such-container", **changes: Any) -> dict[str, Any]:
        body = fill(RECORDED["create"]["body"], self)
        body["executor_ref"] |= {"id": container, "container_name": container}
        return {**body, **changes}

    def accepted(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / "data" / "tasks.jsonl").read_text().splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for stand_in in made.started:
        stand_in.stop()


def fill(value: Any, place: Place) -> Any:
    """Put this test's own directories in the place of the recorded ones."""
    text = json.dumps(value)
    own = {
        "workspace": "workspace",
        "repo": "repo",
        "data": "data",
        "missing": "missing",
        "plain": "plain",
        "other": "other",
    }
    for name, directory in own.items():
        text = text.replace(f"<{name}>", str(place.root / directory))
    return json.loads(text.replace("<dir>", str(place.root)).replace("<known>", "known-task"))


def differences(shape: Any, value: Any, path: str = "") -> list[str]:
    """List where a value lacks a recorded key or has another JSON type; null fits everywhere."""
    if shape == "null" or value is None:
        return []
    if isinstance(shape, dict) and isinstance(value, dict):
        absent = [f"{path}.{name} is absent" for name in shape if name not in value]
        inner = (differences(shape[name], value[name], f"{path}.{name}") for name in shape if name in value)
        return [*absent, *(text for texts in inner for text in texts)]
    if isinstance(shape, list) and isinstance(value, list):
        return differences(shape[0], value[0], f"{path}[0]") if shape and value else []
    kinds = {bool: "boolean", int: "number", float: "number", str: "string"}
    kind = kinds.get(type(value), type(value).__name__)
    return [] if kind == shape else [f"{path} is {kind}, recorded as {shape}"]


def post(url: str, body: Mapping[str, Any]) -> str:
    answer = HTTP.post(f"{url}/api/tasks", json=body, timeout=30)
    assert (answer.status_code, answer.json()["status"]) == (200, "scheduled"), answer.text
    return str(answer.json()["task_id"])


def get(url: str, task_id: str) -> dict[str, Any]:
    answer = HTTP.get(f"{url}/api/tasks/{task_id}", timeout=30)
    assert answer.status_code == 200, answer.text
    record = answer.json()
    assert isinstance(record, dict)
    return record


def wait_for(url: str, task_id: str, seen: Callable[[dict[str, Any]], bool], seconds: float = 30) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        record = get(url, task_id)
        if seen(record):
            return record
        time.sleep(0.02)
    raise AssertionError(f"the task is still {record['status']} after {seconds:g} s: {record['result']}")


def final(url: str, task_id: str) -> dict[str, Any]:
    return wait_for(url, task_id, lambda record: record["status"] in FINAL)


def running(url: str, task_id: str) -> dict[str, Any]:
    return wait_for(url, task_id, lambda record: record["status"] == "running")


def matches(record: dict[str, Any], sample: str) -> None:
    """Compare a record with a recorded one: every key, every type, and the facts that decide."""
    expected = RECORDED["records"][sample]
    assert differences(expected["shape"], record) == []
    found = {name: record.get(name) for name in expected["facts"]}
    axis = record["outcome_axes"]["execution"]
    assert found | {"execution": [axis["status"], axis["reason_code"]]} == expected["facts"]


# ---------------------------------------------------------------- requests, answered as recorded


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, str]]:
    """One server with one finished task, for requests that change nothing."""
    place = Place(tmp_path_factory.mktemp("shared"))
    place.git_dir("other")
    (place.root / "plain").mkdir()
    (place.root / "workspace" / "sub").mkdir()
    (place.root / "workspace" / "README.md").write_text("x\n")
    url = place.start(network_password="open sesame")
    final(url, post(url, place.body(task_id="known-task")))
    yield place, url
    place.started[0].stop()


@pytest.mark.parametrize("root", ["\x00", "\ud800", 5])
def test_a_workspace_that_cannot_be_a_path_is_refused(shared: tuple[Place, str], root: object) -> None:
    content = json.dumps({"description": "x", "workspace_root": root})
    answer = HTTP.post(f"{shared[1]}/api/tasks", content=content)
    assert answer.status_code in (400, 503)
    assert answer.json()["error"]


@pytest.mark.parametrize("sample", RECORDED["create_errors"], ids=lambda sample: sample["name"])
def test_a_bad_task_is_refused_as_recorded(shared: tuple[Place, str], sample: dict[str, Any]) -> None:
    place, url = shared
    if "raw" in sample:
        content = sample["raw"].encode()
    else:
        changed = RECORDED["create"]["body"] | sample["set"]
        content = json.dumps(fill({k: v for k, v in changed.items() if k not in sample["drop"]}, place)).encode()
    answer = HTTP.post(f"{url}/api/tasks", content=content, headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()) == (sample["status"], {"error": fill(sample["error"], place)})


@pytest.mark.parametrize("sample", RECORDED["exchanges"], ids=lambda sample: sample["name"])
def test_a_request_is_answered_as_recorded(shared: tuple[Place, str], sample: dict[str, Any]) -> None:
    place, url = shared
    sample = fill(sample, place)
    answer = HTTP.request(sample["method"], url + sample["path"], headers=sample["headers"], json=sample["body"])
    assert answer.status_code == sample["status"]
    assert answer.headers["content-type"] == sample["content_type"]
    assert answer.headers.get("allow") == sample["allow"]
    assert (answer.text if isinstance(sample["answer"], str) else answer.json()) == sample["answer"]


@pytest.mark.parametrize(
    ("path", "view"),
    [
        ("/api/state", "state-ok"),
        ("/api/settings", "settings-get"),
        ("/api/tasks?limit=2&status=completed", "tasks-list"),
    ],
)
def test_a_view_has_every_recorded_key(shared: tuple[Place, str], path: str, view: str) -> None:
    answer = HTTP.get(shared[1] + path)
    assert answer.status_code == 200
    assert differences(RECORDED["views"][view], answer.json()) == []


def test_settings_show_the_model_and_the_real_port_but_no_password(shared: tuple[Place, str]) -> None:
    settings = HTTP.get(f"{shared[1]}/api/settings").json()
    assert settings["OUROBOROS_MODEL"] == settings["OUROBOROS_MODEL_LIGHT"] == "practice::scripted-solver"
    assert settings["_meta"]["bind_port"] == httpx.URL(shared[1]).port
    assert settings["OUROBOROS_NETWORK_PASSWORD"] == "***set***"


def test_state_says_that_it_is_a_stand_in(shared: tuple[Place, str]) -> None:
    assert HTTP.get(f"{shared[1]}/api/state").json()["stand_in"] is True


REMOTE = {"X-Forwarded-For": "203.0.113.7"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"X-Forwarded-For": "127.0.0.1"}, 200),
        (REMOTE, 401),
        (REMOTE | {"X-Ouroboros-Password": "open sesame"}, 200),
        (REMOTE | {"Authorization": "Bearer open sesame"}, 200),
        (REMOTE | {"Authorization": "Bearer closed"}, 401),
        (REMOTE | {"Authorization": "Basic YW55Om9wZW4gc2VzYW1l"}, 200),
        (REMOTE | {"Authorization": "Basic %%"}, 401),
        (REMOTE | {"Cookie": "ouroboros_auth=guess"}, 401),
    ],
)
def test_only_remote_clients_must_show_the_password(
    shared: tuple[Place, str], headers: dict[str, str], status: int
) -> None:
    assert HTTP.get(f"{shared[1]}/api/state", headers=headers).status_code == status


def test_a_login_opens_a_session(shared: tuple[Place, str]) -> None:
    with httpx.Client(headers=REMOTE, verify=False) as client:
        answer = client.post(f"{shared[1]}/auth/login", json={"password": "open sesame", "next": "/"})
        assert (answer.status_code, answer.json()) == (200, {"ok": True, "next": "/"})
        assert client.get(f"{shared[1]}/api/tasks").status_code == 200


def test_one_connection_serves_many_requests(shared: tuple[Place, str]) -> None:
    with httpx.Client(verify=False) as client:
        client.get(f"{shared[1]}/api/health")
        began = time.monotonic()
        for _ in range(50):
            assert client.head(f"{shared[1]}/api/health").content == b""
            assert client.get(f"{shared[1]}/api/health").json()["runtime_version"] == "6.75.0"
            assert client.options(f"{shared[1]}/api/health").status_code == 405
    assert time.monotonic() - began < 5


def test_a_body_without_a_length_or_too_long_is_not_read(shared: tuple[Place, str]) -> None:
    assert HTTP.post(f"{shared[1]}/api/tasks", content=iter([b"{}"])).status_code == 411
    with socket.create_connection(("127.0.0.1", httpx.URL(shared[1]).port or 0), timeout=10) as client:
        client.sendall(b"POST /api/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 68157440\r\n\r\n")
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("query", "count"),
    [("limit=1", 1), ("limit=zero", 1), ("limit=0", 1), ("status=running", 0), ("status=failed,completed", 1)],
)
def test_lists_are_filtered(shared: tuple[Place, str], query: str, count: int) -> None:
    assert len(HTTP.get(f"{shared[1]}/api/tasks?{query}").json()["tasks"]) == count


# ---------------------------------------------------------------- start and end of a server


@pytest.mark.parametrize("sample", RECORDED["starting"], ids=lambda sample: sample["name"])
def test_a_server_that_is_not_ready_refuses_tasks_as_recorded(place: Place, sample: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"workers": 0} if "no-provider" in sample["name"] else {"start_delay_sec": 60.0}
    url = place.start(**settings)
    answer = HTTP.post(f"{url}/api/tasks", json=sample["body"])
    assert (answer.status_code, answer.json()) == (sample["status"], sample["answer"])
    assert HTTP.get(f"{url}/api/health").status_code == 200
    state = HTTP.get(f"{url}/api/state").json()
    assert differences(RECORDED["views"]["state-while-starting"], state) == []
    assert (state["supervisor_ready"], state["workers_alive"]) == ("no-provider" in sample["name"], 0)


def test_a_server_becomes_ready(place: Place) -> None:
    url = place.start(start_delay_sec=0.3)
    end = time.monotonic() + 5
    while not HTTP.get(f"{url}/api/state").json()["supervisor_ready"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    record = final(url, post(url, {"description": "a task of its own"}))
    assert (record["status"], record["artifact_status"], record["memory_mode"]) == ("completed", "ready", "shared")


def test_a_busy_port_moves_the_server(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        wanted = holder.getsockname()[1]
        served = httpx.URL(place.start(port=wanted)).port
    assert served is not None
    assert wanted < served < wanted + 10
    assert (place.root / "data" / "state" / "server_port").read_text() == str(served)


def test_a_configuration_that_cannot_work_is_refused(place: Place) -> None:
    with pytest.raises(UsageError, match=r"'nosuch'.*solved, partial"):
        StandIn(place.config(scenario="nosuch"))
    with pytest.raises(UsageError, match="port 70000 does not exist"):
        StandIn(place.config(port=70000))
    with pytest.raises(UsageError, match="workers is -1"):
        StandIn(place.config(workers=-1))
    (place.root / "repo" / "VERSION").unlink()
    with pytest.raises(UsageError, match=r"VERSION cannot be read"):
        StandIn(place.config())
    assert place.config(version="1.2").runtime_version() == "1.2"


def test_stopping_takes_running_and_waiting_tasks_along(place: Place) -> None:
    url = place.start(workers=1, solve_delay_sec=60)
    first, second = post(url, place.body()), post(url, place.body())
    running(url, first)
    began = time.monotonic()
    place.started[0].stop()
    place.started[0].stop()
    assert time.monotonic() - began < 5
    with pytest.raises(httpx.ConnectError):
        HTTP.get(f"{url}/api/health")
    url = place.start()
    matches(get(url, first), "task-cancelled-by-server-shutdown")
    matches(get(url, second), "task-waiting-after-sigterm")
    assert HTTP.post(f"{url}/api/tasks/{second}/cancel").status_code == 404


SERVE = """
import pathlib, sys
from obo_bench.practice.standin import StandInConfig, serve
repo, data, scenario, delay = sys.argv[1:]
paths = pathlib.Path(repo), pathlib.Path(data)
config = StandInConfig(*paths, workers=1, scenario=scenario, solve_delay_sec=float(delay))
serve(config, lambda url: print(url, flush=True))
"""


@contextlib.contextmanager
def process(place: Place, scenario: str = "solved", delay: float = 60) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A stand-in in a process of its own, with one worker."""
    home = str(Path(obo_bench.__file__).parents[1])
    command = [sys.executable, "-c", SERVE, str(place.root / "repo"), str(place.root / "data"), scenario, str(delay)]
    environment = {**os.environ, "PYTHONPATH": home}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


def test_a_killed_server_fails_the_running_task_and_loses_the_waiting_one(place: Place) -> None:
    with process(place) as (child, url):
        first, second = post(url, place.body()), post(url, place.body(task_id="waits"))
        running(url, first)
        child.send_signal(signal.SIGKILL)
    url = place.start(orphan_delay_sec=0.5)
    assert get(url, first)["status"] == "running"
    matches(final(url, first), "task-failed-after-server-kill")
    matches(get(url, second), "task-scheduled")
    queue = HTTP.get(f"{url}/api/tasks?limit=1").json()["queue"]
    assert (queue["pending"], queue["running"]) == ([], [])
    assert HTTP.post(f"{url}/api/tasks/{second}/cancel").status_code == 404
    assert HTTP.post(f"{url}/api/tasks", json=place.body(task_id="waits")).status_code == 409
    with HTTP.stream("GET", f"{url}/api/tasks/{second}/events?wait=100", timeout=10) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "id: 1"
        place.started[0].stop()
        assert list(lines)[-1] == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_served_stand_in_in_order(place: Place, number: signal.Signals) -> None:
    with process(place) as (child, url):
        task_id = post(url, place.body())
        running(url, task_id)
        child.send_signal(number)
        assert child.wait(10) == 0
    record = get(place.start(), task_id)
    assert (record["status"], record["reason_code"], record["result"]) == ("cancelled", "cancelled", SHUT_DOWN)


# ---------------------------------------------------------------- the life of a task


def test_a_task_passes_through_the_recorded_stages(place: Place) -> None:
    url = place.start(workers=1, solve_delay_sec=0.5, finalize_delay_sec=0.5)
    first, waiting = post(url, place.body()), post(url, place.body(**RECORDED["create"]["unknown_fields"]))
    matches(get(url, waiting), "task-scheduled")
    assert waiting == "demo-stopped.1"
    matches(running(url, first), "task-running")
    queue = HTTP.get(f"{url}/api/tasks?limit=1").json()["queue"]
    assert ([row["id"] for row in queue["running"]], [row["id"] for row in queue["pending"]]) == ([first], [waiting])
    assert queue["assignable_idle_workers"] == 0
    finalizing = wait_for(url, first, lambda record: record["artifact_status"] == "finalizing")
    matches(finalizing | {"review_projection": {}}, "task-running-finalizing")
    matches(final(url, first), "task-completed")
    accepted = [(row["task_id"], row["instance_id"]) for row in place.accepted()]
    assert accepted == [(first, "demo__demo.1234567"), (waiting, "demo__demo.1234567")]


def test_the_record_shows_the_request_in_its_normalised_form(place: Place) -> None:
    url = place.start(scenario="infra")
    policy = {"protected_artifacts": [{"id": "a", "paths": ["x"]}, {"id": "dropped"}]}
    record = get(url, post(url, place.body(allowed_resources={"web": "Off", "net": True}, resource_policy=policy)))
    workspace = str(place.root / "workspace")
    assert record["allowed_resources"] == {"web": False, "net": True}
    assert record["task_contract"]["resource_policy"]["protected_artifacts"] == [{"id": "a", "paths": ["x"]}]
    assert record["task_contract"]["budget_profile"] == RECORDED["create"]["body"]["metadata"]["budget_profile"]
    mappings = record["metadata"]["executor_ref"]["path_mappings"]
    assert mappings == [{"host_path": workspace, "backend_path": "/workspace"}]
    assert record["deadline_at"].endswith("Z")
    assert record["metadata"]["workspace_preflight"]["git"]["branch"]


@pytest.mark.parametrize("limit", ["soon", None, 0, -5, "nan", 1e300])
def test_an_odd_time_limit_silently_means_none(place: Place, limit: object) -> None:
    url = place.start(scenario="budget-paused")
    assert get(url, post(url, place.body(timeout_sec=limit)))["deadline_at"] == ""


@pytest.mark.parametrize(
    ("scenario", "sample"),
    [
        ("infra", "task-failed-provider-unavailable"),
        ("worker-crash", "task-failed-worker-crash"),
        ("provider-degraded", "task-completed-provider-errors"),
        ("budget-exhausted", "task-completed-budget-exhausted"),
        ("unpriced", "task-completed"),
    ],
)
def test_a_scenario_ends_as_recorded(place: Place, scenario: str, sample: str) -> None:
    url = place.start(scenario=scenario)
    record = final(url, post(url, place.body()))
    matches(record, sample)
    if scenario in ("provider-degraded", "unpriced"):
        assert record["unknown_unmetered"] == record["total_rounds"] > 0


def test_no_scenario_is_unknown_to_the_tests() -> None:
    proven = {"solved", "partial", "broken-build", "infra", "worker-crash", "budget-paused", "budget-exhausted"}
    assert set(SCENARIOS) == proven | {
        "provider-degraded", "unknown-reason", "huge-record", "priced", "unpriced", "long-command",
        # in test_standin_faults.py:
        "instant", "agent-failure", "other-daemon",
    }  # fmt: skip


def test_a_paused_task_waits_for_its_resume(place: Place) -> None:
    url = place.start(scenario="budget-paused")
    first, second = post(url, place.body()), post(url, place.body())
    record = wait_for(url, first, lambda record: "resource_limit" in record)
    matches(record, "task-scheduled-budget-paused")
    state = HTTP.get(f"{url}/api/state").json()
    assert state["spent_usd"] >= state["budget_limit"]
    assert HTTP.post(f"{url}/api/tasks/{first}/resume").json() == {
        "ok": True, "task_id": first, "same_generation": True,
    }  # fmt: skip
    assert final(url, first)["status"] == "completed"
    assert HTTP.post(f"{url}/api/tasks/{second}/cancel").json() == {"ok": True, "task_id": second}
    assert get(url, second)["status"] == "cancelled"


def test_a_reason_code_may_be_unknown_to_every_client(place: Place) -> None:
    url = place.start(scenario="unknown-reason")
    record = final(url, post(url, place.body()))
    assert record["reason_code"] not in json.dumps(RECORDED)
    assert record["status"] == "failed"


def test_a_record_may_weigh_megabytes(place: Place) -> None:
    url = place.start(scenario="huge-record")
    task_id = post(url, place.body())
    final(url, task_id)
    assert len(HTTP.get(f"{url}/api/tasks/{task_id}").content) > 5_000_000


def test_the_true_cost_is_in_the_event_only(place: Place) -> None:
    url = place.start(scenario="priced")
    task_id = post(url, place.body())
    record = final(url, task_id)
    told = [event["data"] for event in events(url, task_id) if event["type"] == "task_cost_finalized"]
    assert len(told) == 2
    assert differences(RECORDED["events"]["task_cost_finalized"]["data"], told[0]) == []
    assert (record["cost_final"], told[0]["cost_final"]) == (False, True)
    assert 0 < record["cost_usd"] < told[0]["cost_usd"]


def test_the_deadline_ends_the_work(place: Place) -> None:
    url = place.start(solve_delay_sec=60)
    matches(final(url, post(url, place.body(timeout_sec=0.5))), "task-completed-deadline")


def test_cancelling_works_once_on_running_and_waiting_tasks(place: Place) -> None:
    url = place.start(workers=1, solve_delay_sec=60)
    first, second = post(url, place.body()), post(url, place.body())
    running(url, first)
    for task_id, sample in ((second, "task-cancelled-before-start"), (first, "task-cancelled")):
        answer = HTTP.post(f"{url}/api/tasks/{task_id}/cancel")
        assert (answer.status_code, answer.json()) == (200, {"ok": True, "task_id": task_id})
        matches(get(url, task_id), sample)
        assert HTTP.post(f"{url}/api/tasks/{task_id}/cancel").status_code == 404
    third = post(url, place.body())
    assert running(url, third)["task_id"] == third


def test_a_client_may_die_between_post_and_answer(place: Place) -> None:
    url = place.start(answer_delay_sec=60, scenario="infra")
    with pytest.raises(httpx.ReadTimeout):
        HTTP.post(f"{url}/api/tasks", json=place.body(task_id="mine"), timeout=0.5)
    assert final(url, "mine")["status"] == "failed"
    assert [row["task_id"] for row in place.accepted()] == ["mine"]
    assert HTTP.post(f"{url}/api/tasks", json=place.body(task_id="mine")).status_code == 409


def events(url: str, task_id: str, query: str = "cursor=0") -> list[dict[str, Any]]:
    answer = HTTP.get(f"{url}/api/tasks/{task_id}/events?{query}", timeout=60)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block and not block.startswith(":")]
    parsed: list[dict[str, Any]] = [json.loads(block[2].removeprefix("data: ")) for block in blocks]
    assert [block[0] for block in blocks] == [f"id: {event['seq']}" for event in parsed]
    assert {block[1] for block in blocks} <= {"event: task_event"}
    return parsed


def test_the_event_stream_follows_a_task_to_its_end(place: Place) -> None:
    url = place.start(solve_delay_sec=0.5)
    task_id = post(url, place.body())
    seen = events(url, task_id, "wait=60")
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert (seen[-1]["type"], seen[-1]["data"]["status"]) == ("task_result", "completed")
    kinds = {event["type"]: event for event in seen}
    for kind in ("task_result", "llm_round", "llm_usage", "tool_call", "task_done", "task_cost_finalized"):
        shape = {name: what for name, what in RECORDED["events"][kind].items() if name not in ("root", "data")}
        assert differences(shape, kinds[kind]) == []
    assert [event["seq"] for event in events(url, task_id, f"cursor={len(seen) - 2}")] == [len(seen) - 1, len(seen)]
    assert events(url, task_id, "cursor=10000") == []
    place.started[0].stop()
    assert [event["type"] for event in events(place.start(), task_id)] == [event["type"] for event in seen]


def test_the_event_stream_beats_when_nothing_more_comes(place: Place) -> None:
    url = place.start(scenario="budget-paused")
    task_id = post(url, place.body())
    answer = HTTP.get(f"{url}/api/tasks/{task_id}/events?cursor=0&wait=0.2")
    assert answer.text.endswith(": heartbeat\n\n")


# ---------------------------------------------------------------- the solver


def test_an_instance_without_a_practice_task_fails_to_build_and_says_so(place: Place) -> None:
    url = place.start()
    record = final(url, post(url, place.body(metadata={"programbench_instance_id": "some__other.1234567"})))
    assert "No practice task is known" in record["result"]
    built = subprocess.run([place.root / "workspace" / "compile.sh"], capture_output=True, check=False, timeout=10)
    assert (built.returncode, b"no solution" in built.stderr) == (1, True)


def test_the_patch_holds_what_was_written_and_can_be_fetched(place: Place) -> None:
    url = place.start()
    record = final(url, post(url, place.body()))
    assert record["artifact_status"] == "ready_with_changes"
    patch = HTTP.get(f"{url}/api/tasks/{record['task_id']}/artifacts/workspace.patch")
    assert "+++ b/src/main.sh" in patch.text
    assert HTTP.get(f"{url}/api/tasks/{record['task_id']}/artifacts/..%2F..%2Fstate%2Fserver_port").status_code == 404


def test_a_workspace_that_is_gone_does_not_hurt_the_server(place: Place) -> None:
    url = place.start(solve_delay_sec=0.3)
    task_id = post(url, place.body())
    running(url, task_id)
    (place.root / "workspace").rename(place.root / "moved")
    (place.root / "workspace").write_text("in the way\n")
    tools = [error["tool"] for error in final(url, task_id)["outcome_axes"]["execution"]["cosmetic_tool_errors"]]
    assert "write_file" in tools
    (place.root / "workspace").unlink()
    (place.root / "moved").rename(place.root / "workspace")
    assert final(url, post(url, place.body()))["status"] == "completed"


# ---------------------------------------------------------------- real containers


def docker(*arguments: str) -> str:
    ended = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True, timeout=60)
    return ended.stdout


@pytest.fixture(scope="module")
def image() -> str:
    ensure_images([REAL_TASK], SilentReporter())
    return image_reference(REAL_TASK.instance_id)


@contextlib.contextmanager
def container(place: Place, network: str = "none") -> Iterator[str]:
    """A container of the practice image that sees the workspace."""
    name = f"obo-bench-test-standin-{uuid.uuid4().hex[:12]}"
    mount = f"{place.root / 'workspace'}:/workspace"
    image = image_reference(REAL_TASK.instance_id)
    docker("run", "-d", "--name", name, "--network", network, "-v", mount, image, "sleep", "600")
    try:
        yield name
    finally:
        docker("rm", "-f", name)


def put_reference(place: Place, content: bytes) -> None:
    path = place.root / "workspace" / "reference_executable"
    path.write_bytes(content)
    path.chmod(0o755)


def tool_errors(record: dict[str, Any]) -> list[dict[str, Any]]:
    found = record["outcome_axes"]["execution"]["cosmetic_tool_errors"]
    assert isinstance(found, list)
    return found


@pytest.mark.docker
@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("scenario", "report", "errors"),
    [
        ("solved", "The build succeeded; 3 of 3 probes agree.", 0),
        ("partial", "The build succeeded; 1 of 3 probes agree.", 0),
        ("broken-build", "The build failed; 0 of 3 probes agree.", 1),
    ],
)
def test_the_solver_builds_and_compares_in_the_container(place: Place, scenario: str, report: str, errors: int) -> None:
    put_reference(place, EchoTask().solution("solved")["src/main.sh"][0])
    url = place.start(scenario=scenario)
    with container(place) as name:
        record = final(url, post(url, place.body(name)))
    assert record["result"].endswith(report)
    assert len(tool_errors(record)) == errors
    if scenario == "solved":
        matches(record, "task-completed-clean-known-cost")
        assert record["outcome_axes"]["objective"]["outcome_tier"] == "solved"
    if scenario == "broken-build":
        text = tool_errors(record)[0]["result"]
        assert "SHELL_EXIT_ERROR: command exited with exit_code=3" in text
        assert '"returncode": 3' in text


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_a_real_practice_task_is_solved(place: Place) -> None:
    url = place.start(task_by_id)
    with container(place) as name:
        made = docker("create", "--network", "none", image_reference(REAL_TASK.instance_id))
        target = place.root / "workspace" / "reference_executable"
        docker("cp", f"{made.strip()}:/workspace/executable", str(target))
        docker("rm", made.strip())
        target.chmod(0o755)
        metadata = {"programbench_instance_id": REAL_TASK.instance_id}
        record = final(url, post(url, place.body(name, metadata=metadata)))
    count = len(REAL_TASK.probes)
    assert record["result"].endswith(f"The build succeeded; {count} of {count} probes agree.")


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_a_dead_container_ends_in_a_completed_task(place: Place) -> None:
    url = place.start()
    gone = final(url, post(url, place.body("obo-bench-no-such-container")))
    matches(gone, "task-completed")
    assert (
        "docker inspect failed for executor container obo-bench-no-such-container: " in tool_errors(gone)[0]["result"]
    )
    assert "No such object: obo-bench-no-such-container" in tool_errors(gone)[0]["result"]
    with container(place) as name:
        docker("stop", "-t", "0", name)
        stopped = final(url, post(url, place.body(name)))
    assert (tool_errors(stopped)[0]["status"], tool_errors(stopped)[0]["exit_code"]) == ("non_zero_exit", 1)
    assert "is not running" in tool_errors(stopped)[0]["result"]


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_a_container_with_a_network_gets_no_command(place: Place) -> None:
    url = place.start()
    with container(place, "bridge") as name:
        record = final(url, post(url, place.body(name)))
    text = "SHELL_ERROR: executor_ref.network=none requires Docker NetworkMode=none, got 'bridge'. cwd="
    assert all(text in error["result"] for error in tool_errors(record))
    assert not (place.root / "workspace" / "executable").exists()


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_a_container_removed_in_mid_run_still_ends_in_a_completed_task(place: Place) -> None:
    url = place.start(scenario="long-command")
    with container(place) as name:
        task_id = post(url, place.body(name))
        wait_for(url, task_id, lambda _: "sleep 300" in docker("top", name))
        docker("kill", name)
        record = final(url, task_id)
    assert record["status"] == "completed"
    assert tool_errors(record)[0]["exit_code"] == 137


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_a_cancel_leaves_the_command_in_the_container_alone(place: Place) -> None:
    url = place.start(scenario="long-command")
    with container(place) as name:
        task_id = post(url, place.body(name))
        wait_for(url, task_id, lambda _: "sleep 300" in docker("top", name))
        assert HTTP.post(f"{url}/api/tasks/{task_id}/cancel").status_code == 200
        assert get(url, task_id)["status"] == "cancelled"
        time.sleep(0.5)
        assert "sleep 300" in docker("top", name)


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_the_deadline_ends_the_command_in_the_container(place: Place) -> None:
    url = place.start(scenario="long-command")
    with container(place) as name:
        record = final(url, post(url, place.body(name, timeout_sec=3)))
        assert record["reason_code"] == "deadline_local"
        assert "sleep 300" not in docker("top", name)
