"""Faults on demand: the grammar, each fault over a real socket, and a server that is killed for real."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from obo_bench.core.refusals import UsageError
from obo_bench.practice.standin import SCENARIOS, parse_fault
from obo_bench.practice.standin.fault_book import FaultBook
from obo_bench.practice.standin.faults import ACTIONS, EXCHANGES, chaos
from tests.conftest import git, obo
from tests.soak.server import ServerProcess

Serve = Callable[..., str]
TASK = "obo-0badcafe-a-1"


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


def task(url: str, task_id: str = TASK) -> dict[str, Any]:
    answer = httpx.get(f"{url}/api/tasks/{task_id}", trust_env=False, timeout=20)
    value = answer.json()
    assert isinstance(value, dict)
    return value


def post(url: str, task_id: str = TASK, instance_id: str = "demo__a") -> httpx.Response:
    body = {"description": "x", "task_id": task_id, "metadata": {"programbench_instance_id": instance_id}}
    return httpx.post(f"{url}/api/tasks", json=body, trust_env=False, timeout=20)


def ended(url: str, task_id: str = TASK) -> dict[str, Any]:
    give_up = time.monotonic() + 20
    while (record := task(url, task_id))["status"] not in ("completed", "failed", "cancelled"):
        assert time.monotonic() < give_up, record["status"]
        time.sleep(0.02)
    return record


@pytest.fixture
def faulty(serve: Serve) -> Callable[..., str]:
    def start(*lines: str, **settings: Any) -> str:
        quick = {"scenario": "instant", "finalize_delay_sec": 0.0, **settings}
        return serve(faults=tuple(map(parse_fault, lines)), **quick)

    return start


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("submit", "WHERE:WHAT"),
        ("nowhere:drop", "it begins with one of"),
        ("health:explode", "the stand-in can do one of"),
        ("work:explode", "comes a scenario"),
        ("health:delay=soon", "wait VALUE seconds"),
        ("health:delay=-1", "a number of seconds"),
        ("health:status=200", "an HTTP status of an error"),
        ("health:patch=[]", "a JSON object"),
        ("health:drop=1", "takes no value"),
        ("health:drop@1.5", "from 0 to 1"),
        ("health:drop@1.2.3", "from 0 to 1"),
    ],
)
def test_a_fault_that_means_nothing_says_why(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse_fault(line)


def test_the_parts_of_a_line() -> None:
    fault = parse_fault('task:patch={"reason_code":"a*1@2"}*3@0.25')
    assert (fault.where, fault.what, fault.times, fault.probability) == ("task", "patch", 3, 0.25)
    assert json.loads(fault.value) == {"reason_code": "a*1@2"}


def test_help_tells_every_scenario_place_and_fault() -> None:
    shown = obo("practice", "gateway", "--help").stdout
    words = set(re.findall(r"[\w-]+", shown.partition("Options:")[0]))
    assert {*SCENARIOS, *EXCHANGES, *ACTIONS} <= words


def test_an_impossible_fault_is_a_usage_error_before_anything_is_made(tmp_path: Path) -> None:
    done = obo("practice", "gateway", "--directory", tmp_path / "p", "--fault", "health:explode")
    assert done.status == 2
    assert "health:explode" in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_submission_dropped_before_it_is_taken_leaves_no_task(faulty: Callable[..., str]) -> None:
    url = faulty("submit:drop*1")
    with pytest.raises(httpx.RemoteProtocolError):
        post(url)
    assert task(url) == {"error": "task not found"}
    assert post(url).status_code == 200


def test_a_submission_dropped_after_it_was_taken_leaves_one(faulty: Callable[..., str]) -> None:
    url = faulty("submit:drop-answer*1")
    with pytest.raises(httpx.RemoteProtocolError):
        post(url)
    assert post(url).status_code == 409
    assert ended(url)["status"] == "completed"


@pytest.mark.parametrize("name", [name for name in EXCHANGES if name not in ("submit", "artifact", "events")])
def test_every_exchange_can_be_delayed_and_refused(name: str, faulty: Callable[..., str], http: httpx.Client) -> None:
    url = faulty(f"{name}:delay=0.3*1", f"{name}:status=500*1")
    method, _, path = EXCHANGES[name].partition(" ")
    started = time.monotonic()
    answer = http.request(method, url + path.replace("ID", TASK))
    assert time.monotonic() - started >= 0.3
    assert (answer.status_code, answer.json()) == (500, {"error": "a fault was asked for"})
    assert http.request(method, url + path.replace("ID", TASK)).status_code in (200, 404)


def test_answers_that_no_client_expects(faulty: Callable[..., str], http: httpx.Client) -> None:
    url = faulty()

    def health_with(line: str) -> httpx.Response:
        http.put(f"{url}/stand-in/faults", content=line)
        return http.get(f"{url}/api/health")

    page = health_with("health:html")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    with pytest.raises(json.JSONDecodeError):
        health_with("health:not-json").json()
    assert health_with("health:wrong-types").json()["runtime_version"] == 7
    assert health_with('health:patch={"runtime_version":"6.80.0"}').json()["runtime_version"] == "6.80.0"
    assert len(health_with("health:pad=2000000").content) > 2_000_000
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        health_with("health:cut")
    assert health_with("").json()["runtime_version"] == "6.75.0"


def test_a_task_can_seem_to_be_retried_under_a_new_id(faulty: Callable[..., str]) -> None:
    url = faulty('task:patch={"task_id":"{task_id}-2","original_task_id":"{task_id}"}')
    post(url)
    assert ended(url)["task_id"] == f"{TASK}-2"


def test_work_goes_as_its_instance_is_meant_to(faulty: Callable[..., str]) -> None:
    url = faulty("work:worker-crash=demo__a*1", "work:agent-failure=demo__b")
    for number, instance_id in enumerate(("demo__a", "demo__a", "demo__b", "demo__c")):
        post(url, f"t{number}", instance_id)
    reasons = [ended(url, f"t{number}")["reason_code"] for number in range(4)]
    assert reasons == ["worker_crash_signal", "final_message", "empty_final_text", "final_message"]


def test_faults_are_shown_added_and_ended_while_it_runs(faulty: Callable[..., str], http: httpx.Client) -> None:
    url = faulty("health:status=503*2")
    admin = f"{url}/stand-in/faults"
    assert http.get(f"{url}/api/health").status_code == 503
    [row] = http.get(admin).json()["faults"]
    assert row == {"fault": "health:status=503*2", "struck": 1, "left": 1}
    assert len(http.post(admin, content="state:drop\nlist:drop").json()["faults"]) == 3
    assert http.post(admin, content="state:explode").status_code == 400
    assert http.patch(admin).status_code == 405
    assert http.delete(admin).json()["faults"] == []
    assert http.get(f"{url}/api/health").status_code == 200


def test_chance_is_the_same_for_the_same_seed() -> None:
    def struck(seed: int) -> list[int]:
        book = FaultBook(chaos(0.3), seed)
        return [len(book.strike("health")) for _ in range(300)]

    assert struck(1) == struck(1) != struck(2)
    assert 0.2 < sum(map(bool, struck(1))) / 300 < 0.4
    crash = parse_fault("work:worker-crash@0.5")
    fallen = [crash.falls_on(f"task-{number}", 1) for number in range(200)]
    assert 70 < sum(fallen) < 130
    book = FaultBook([crash], 1)
    assert [book.scenario(f"task-{n}", "a", "solved") == "worker-crash" for n in range(200)] == fallen


@pytest.mark.parametrize("keep_waiting", [False, True])
def test_a_killed_server_orphans_what_ran_and_loses_what_waited(tmp_path: Path, keep_waiting: bool) -> None:
    kept = ("--keep-waiting",) if keep_waiting else ()
    server = ServerProcess(tmp_path, "--scenario", "instant", "--workers", "1", "--solve-delay-sec", "3", *kept)
    server.start()
    try:
        post(server.url, "runs")
        post(server.url, "waits")
        until_running(server)
        server.crash()
        assert ended(server.url, "runs")["reason_code"] == "orphaned_running_after_worker_restart"
        if keep_waiting:
            assert ended(server.url, "waits")["status"] == "completed"
        else:
            assert task(server.url, "waits")["status"] == "scheduled"
            assert server.live() == []
            assert post(server.url, "waits").status_code == 409
    finally:
        server.end()


def test_a_server_that_is_asked_to_end_cancels_what_ran_and_what_waited(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, "--scenario", "instant", "--workers", "1", "--solve-delay-sec", "30")
    server.start()
    post(server.url, "runs")
    post(server.url, "waits")
    until_running(server)
    server.end(signal.SIGTERM)
    assert {server.record(name)["status"] for name in ("runs", "waits")} == {"cancelled"}


def until_running(server: ServerProcess) -> None:
    give_up = time.monotonic() + 20
    while server.record("runs").get("status") != "running":
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
def test_commands_that_go_to_another_daemon_fail_where_nobody_looks(serve: Serve, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    git(workspace, "init", "-q")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "seed")
    url = serve(scenario="other-daemon")
    executor = {
        "type": "docker_exec", "id": "c", "container_name": "c", "network": "none",
        "workspace_host_path": str(workspace), "workspace_backend_path": "/workspace",
    }  # fmt: skip
    body = {"description": "x", "task_id": TASK, "workspace_root": str(workspace), "executor_ref": executor}
    assert httpx.post(f"{url}/api/tasks", json=body, trust_env=False).status_code == 200
    record = ended(url)
    errors = record["outcome_axes"]["execution"]["cosmetic_tool_errors"]
    assert record["status"] == "completed"
    assert errors
    assert all("docker inspect failed" in error["result"] for error in errors)
