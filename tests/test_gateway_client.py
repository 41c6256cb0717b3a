"""The client against real sockets that behave badly, and the life of a task against a real stand-in."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.documents import UnreadableDocument
from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import SMALL_ANSWER, GatewayClient
from obo_bench.gateway.errors import GatewayAnswerInvalid, GatewayError, GatewayRefused, GatewayUnreachable
from obo_bench.gateway.lifecycle import TaskLife, TaskRejected, retire
from obo_bench.gateway.outcome import judge
from obo_bench.gateway.settlement import ExecutorTrouble, SettledBy
from obo_bench.gateway.wire import TaskRecord
from obo_bench.practice.standin.auth import Gatekeeper
from tests.conftest import answering, git
from tests.raw_server import http, raw_server

Serve = Callable[..., str]


ANSWERS: dict[str, tuple[bytes, type[GatewayError]]] = {
    "a page": (http("200 OK", b"<html>", "Content-Type: text/html"), GatewayAnswerInvalid),
    "deep nesting": (http("200 OK", b"[" * 100_000), GatewayAnswerInvalid),
    "a list": (http("200 OK", b"[]"), GatewayAnswerInvalid),
    "a wrong type": (http("200 OK", b'{"runtime_version": {"a": 1}}'), GatewayAnswerInvalid),
    "a redirect": (http("302 Found", b"", "Location: http://127.0.0.1:1/"), GatewayAnswerInvalid),
    "more than any health": (http("200 OK", b'{"a": "' + b"x" * SMALL_ANSWER + b'"}'), GatewayAnswerInvalid),
    "plain words": (http("500 Oops", b"plain words"), GatewayRefused),
    "an error in an error": (http("404 Not Found", b'{"error": ["x"]}'), GatewayRefused),
    "nothing": (b"", GatewayUnreachable),
    "half": (http("200 OK", b"{}")[:-1], GatewayUnreachable),
}


@pytest.mark.parametrize(("answer", "error"), ANSWERS.values(), ids=ANSWERS)
def test_bad_answers_are_typed(answer: bytes, error: type[GatewayError]) -> None:
    with raw_server(answer) as url, GatewayClient(url) as client, pytest.raises(error) as raised:
        client.health()
    assert url in str(raised.value)
    assert len(str(raised.value)) < 300


def test_a_record_may_be_larger_than_any_other_answer() -> None:
    body = b'{"task_id": "t", "status": "running", "result": "' + b"x" * (2 * SMALL_ANSWER) + b'"}'
    with raw_server(http("200 OK", body)) as url, GatewayClient(url) as client:
        found = client.task("t")
        assert found is not None
        assert len(found.result or "") == 2 * SMALL_ANSWER


@pytest.mark.parametrize("password", ["open sesame", "grüße:日本 %\n", "x"])
def test_any_password_opens_the_server_and_is_never_shown(password: str) -> None:
    shown: list[dict[str, str]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append({name.lower(): value for name, value in self.headers.items()})
            body = json.dumps({"error": f"you sent {self.headers['Authorization']}"}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with answering(Answer) as place, GatewayClient(f"http://{place}", password=password) as client:
        with pytest.raises(GatewayRefused) as raised:
            client.state()
        with pytest.raises(GatewayRefused):
            client.settings()
    keeper = Gatekeeper(password)
    assert all(keeper.allows("/api/state", "192.0.2.7", headers) for headers in shown)
    assert not keeper.allows("/api/state", "192.0.2.7", {})
    echoed = shown[0]["authorization"]
    assert echoed in str(raised.value)
    assert echoed.split()[1] not in process_redactor().text(str(raised.value).replace("Basic", ""))


def test_every_call_against_the_stand_in(serve: Serve) -> None:
    with GatewayClient(serve()) as client:
        assert client.state().ready
        assert client.state().idle_workers == 2
        assert client.settings()["OUROBOROS_MODEL"] == "practice::scripted-solver"
        assert client.task("nobody") is None
        assert client.cancel("nobody") is False
        assert not client.queue().holds("nobody")
        with pytest.raises(GatewayRefused, match="task_id must match"):
            client.task("-bad")


class Room:
    """One task on a workspace without a container: enough to be accepted, and to wait or run."""

    def __init__(self, tmp_path: Path, url: str, name: str = "one") -> None:
        self.workspace = tmp_path / f"ws-{name}"
        self.workspace.mkdir()
        git(self.workspace, "init", "-q")
        self.task_id = f"obo-test-{name}"
        self.checkpoints = CheckpointFile(tmp_path / f"checkpoint-{name}.json")
        self.client = GatewayClient(url)
        self.stop = threading.Event()
        self.trouble: str | None = None
        self.life = TaskLife(
            self.client,
            self.checkpoints,
            SilentReporter(),
            subject=name,
            stop=self.stop,
            executor=self,
        )

    def look(self, _: str) -> ExecutorTrouble | None:
        return ExecutorTrouble(SettledBy.EXECUTOR_LOST, self.trouble, {"exit_code": 137}) if self.trouble else None

    at_end = look

    def body(self, **changes: Any) -> dict[str, Any]:
        made = {
            "task_id": self.task_id,
            "description": "x",
            "workspace_root": str(self.workspace),
            "memory_mode": "empty",
            "timeout_sec": 600,
        }
        return {**made, **changes}

    def submit(self) -> TaskCheckpoint:
        return self.life.submit(self.body(), TaskCheckpoint(task_id=self.task_id))


@pytest.fixture
def room(tmp_path: Path, serve: Serve) -> Iterator[Callable[..., Room]]:
    made: list[Room] = []

    def make(name: str = "one", url: str = "", **config: Any) -> Room:
        made.append(Room(tmp_path, url or serve(**config), name))
        return made[-1]

    yield make
    for each in made:
        each.client.close()


def test_a_second_submission_finds_the_first(room: Callable[..., Room]) -> None:
    one = room(solve_delay_sec=30)
    first = one.submit()
    again = one.submit()
    assert first.task_id == again.task_id == one.task_id
    assert again.status in ("scheduled", "running")


def test_the_intent_is_on_disk_when_the_server_refuses(room: Callable[..., Room]) -> None:
    one = room()
    with pytest.raises(TaskRejected, match="workspace_root is not a directory"):
        one.life.submit(one.body(workspace_root="/no/such/place"), TaskCheckpoint(task_id=one.task_id))
    stored = one.checkpoints.read()
    assert stored is not None
    assert stored.status == "intent"


def test_a_paused_budget_does_not_wait_for_ever(room: Callable[..., Room]) -> None:
    one = room(scenario="budget-paused")
    settled = one.life.watch(one.submit(), 60)
    assert settled.by is SettledBy.BUDGET_PAUSED
    record = one.client.task(one.task_id)
    assert record is not None
    assert record.final


def test_an_agent_that_is_done_is_not_cancelled_for_its_container(room: Callable[..., Room]) -> None:
    one = room(finalize_delay_sec=5)
    submitted = one.submit()
    give_up = time.monotonic() + 30
    while (record := one.client.task(one.task_id)) is None or record.artifact_status != "finalizing":
        assert time.monotonic() < give_up
    one.trouble = "gone"
    assert one.life.watch(submitted, 60).by is SettledBy.FINAL


def test_trouble_of_the_executor_cancels_the_task(room: Callable[..., Room]) -> None:
    one = room(solve_delay_sec=60)
    one.trouble = "gone"
    settled = one.life.watch(one.submit(), 60)
    assert (settled.by, settled.detail) == (SettledBy.EXECUTOR_LOST, "gone")
    assert settled.facts == {"exit_code": 137}
    record = one.client.task(one.task_id)
    assert record is not None
    assert record.status == "cancelled"


def test_the_watch_has_a_deadline_and_can_be_left(room: Callable[..., Room]) -> None:
    one = room(solve_delay_sec=60)
    checkpoint = one.submit()
    assert one.life.watch(checkpoint, 0.5).by is SettledBy.TIMEOUT
    one.stop.set()
    assert one.life.watch(checkpoint, 60).by is SettledBy.DETACHED


def test_a_new_attempt_ends_the_old_task_first(room: Callable[..., Room]) -> None:
    one = room(solve_delay_sec=60)
    one.submit()
    retire(one.client, one.task_id)
    record = one.client.task(one.task_id)
    assert record is not None
    assert record.status == "cancelled"
    retire(one.client, "never-heard-of")


def test_a_waiting_task_that_a_crash_lost_is_recognised(
    tmp_path: Path, checkout: Path, room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("obo_bench.gateway.lifecycle.LOST_CHECK_SEC", 0.3)
    data = tmp_path / "workspace" / "data"
    command = (
        "import sys; from pathlib import Path; from obo_bench.practice.standin import StandInConfig, serve;"
        "serve(StandInConfig(repo_dir=Path(sys.argv[1]), data_dir=Path(sys.argv[2]), workers=1, solve_delay_sec=60),"
        "lambda text: None)"
    )
    server = subprocess.Popen([sys.executable, "-c", command, str(checkout), str(data)])
    port_file = data / "state" / "server_port"
    while not port_file.exists() or not port_file.read_text().strip():
        time.sleep(0.05)
    url = f"http://127.0.0.1:{port_file.read_text().strip()}"
    busy, waiting = room("busy", url=url), room("waiting", url=url)
    busy.submit()
    deadline = time.monotonic() + 30
    while waiting.client.state().running_count == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    waiting.submit()
    server.kill()
    server.wait()
    again = room("again", data_dir=data, workers=1)
    life = TaskLife(again.client, waiting.checkpoints, SilentReporter(), subject="w", stop=again.stop, executor=None)
    settled = life.watch(TaskCheckpoint(task_id=waiting.task_id), 60)
    assert settled.by is SettledBy.LOST
    retire(again.client, waiting.task_id)


def record(**fields: Any) -> TaskRecord:
    return TaskRecord.model_validate(fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "completed", "reason_code": "final_message"}, (True, False, False, "final_message")),
        ({"status": "completed", "reason_code": "deadline_local"}, (True, False, False, "deadline_local")),
        ({"status": "completed", "reason_code": "provider_unavailable"}, (True, False, True, "provider_unavailable")),
        ({"status": "completed", "reason_code": "budget_exhausted"}, (True, False, True, "budget_exhausted")),
        ({"status": "failed", "reason_code": "provider_unavailable"}, (False, True, False, "provider_unavailable")),
        ({"status": "failed", "reason_code": "llm_api_error"}, (False, True, False, "llm_api_error")),
        ({"status": "failed", "reason_code": "brand_new_code"}, (False, False, False, "brand_new_code")),
        ({"status": "failed"}, (False, False, False, "task_not_completed")),
        ({"status": "cancelled", "reason_code": "cancelled"}, (False, True, False, "cancelled")),
        (
            {"status": "failed", "reason_code": "x", "outcome_axes": {"execution": {"status": "infra_failed"}}},
            (False, True, False, "x"),
        ),
    ],
)
def test_who_failed(fields: dict[str, Any], expected: tuple[bool, bool, bool, str]) -> None:
    outcome = judge(record(**fields))
    assert (outcome.completed, outcome.infrastructure, outcome.degraded, outcome.reason) == expected


def test_a_checkpoint_that_is_no_checkpoint_is_not_none(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "c.json")
    assert file.read() is None
    write_json(file.path, {"schema": "other"})
    with pytest.raises(UnreadableDocument):
        file.read()
    assert file.write(TaskCheckpoint(task_id="t")).ts_unix > 0
    assert file.read() is not None


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ("2026-11-29T15:45:02.119426+00:00", True),
        ("2026-11-29T15:45:02.119426", False),
        ("2026-11-29", False),
        ("soon", False),
        (17, False),
        (None, False),
    ],
)
def test_the_time_of_a_record_is_known_only_with_its_zone(told: object, known: bool) -> None:
    changed = TaskRecord.model_validate({"task_id": "t", "ts": told}).changed_unix
    assert changed == (1795967102.119426 if known else None)
