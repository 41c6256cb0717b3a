"""Ending a task at a server: what it answers on a real socket, step by step, and what follows."""

import base64
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.errors import GatewayError
from obo_bench.programbench.leftovers import run_server
from obo_bench.programbench.leftovers.run_lookup import RecordedRun
from obo_bench.programbench.leftovers.run_server import RunServer, StillLive, TaskEnd
from tests.conftest import answering

TASK = "obo-0badcafe-a-1"


class Script:
    """Answers by method and path; a list gives one answer after the other, the last one for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        self.asked: list[str] = []
        self.password: str | None = None

    def says(self, request: str, *answers: dict[str, Any] | tuple[int, dict[str, Any]]) -> None:
        self.answers[request] = [found if isinstance(found, tuple) else (200, found) for found in answers]

    def answer(self, request: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(request)
        found = self.answers.get(request, [(404, {"error": "task not found"})])
        return found.pop(0) if len(found) > 1 else found[0]


@pytest.fixture
def script() -> Script:
    made = Script()
    made.says("GET /api/health", {"runtime_version": "6.75.0"})
    made.says("GET /api/tasks", {"tasks": [], "queue": {"pending": [], "running": []}})
    made.says(f"POST /api/tasks/{TASK}/cancel", {"ok": True, "task_id": TASK})
    return made


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document = script.answer(f"{self.command} {self.path.partition('?')[0]}")
            if script.password is not None and script.password not in str(self.headers):
                status, document = 401, {"error": "Authentication required."}
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815  # the base class's name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        yield f"http://{host}"


def recorded(root: Path, url: str, **harness: object) -> RecordedRun:
    attested = {"runtime_attestation": {"runtime_version": "6.75.0"}}
    return RecordedRun(root, "0badcafe", {"harness": {"ouroboros_url": url, **harness}, "extra": attested})


@pytest.fixture
def end(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], TaskEnd]:
    monkeypatch.setattr(run_server, "_POLL_SEC", 0.01)
    monkeypatch.setattr(run_server, "SETTLE_SEC", 0.3)

    def ask() -> TaskEnd:
        with RunServer(recorded(tmp_path, url)) as server:
            return server.end(TASK, announce=lambda: None).how

    return ask


def test_work_that_is_only_being_collected_is_not_thrown_away(script: Script, end: Callable[[], TaskEnd]) -> None:
    finalizing = {"status": "running", "artifact_status": "finalizing"}
    script.says(f"GET /api/tasks/{TASK}", finalizing, finalizing, {"status": "completed"})
    assert end() is TaskEnd.COMPLETED
    assert f"POST /api/tasks/{TASK}/cancel" not in script.asked


def test_a_task_that_finishes_under_the_cancellation_has_finished(script: Script, end: Callable[[], TaskEnd]) -> None:
    script.says(f"GET /api/tasks/{TASK}", {"status": "running"}, {"status": "completed"})
    script.says(f"POST /api/tasks/{TASK}/cancel", (404, {"error": "task not found or not active"}))
    assert end() is TaskEnd.COMPLETED


@pytest.mark.parametrize("waiting", ["running", "requested", "interrupted", "cancel_requested"])
def test_it_is_over_only_when_the_record_says_so(script: Script, end: Callable[[], TaskEnd], waiting: str) -> None:
    script.says(f"GET /api/tasks/{TASK}", {"status": waiting}, {"status": waiting}, {"status": "cancelled"})
    assert end() is TaskEnd.CANCELLED


def test_a_worker_that_does_not_let_go_at_once_is_asked_again(script: Script, end: Callable[[], TaskEnd]) -> None:
    script.says(f"POST /api/tasks/{TASK}/cancel", (503, {"error": "did not settle, still live"}), {"ok": True})
    script.says(f"GET /api/tasks/{TASK}", {"status": "running"}, {"status": "running"}, {"status": "cancelled"})
    assert end() is TaskEnd.CANCELLED
    assert script.asked.count(f"POST /api/tasks/{TASK}/cancel") == 2


def test_a_task_that_goes_on_is_never_called_cancelled(script: Script, end: Callable[[], TaskEnd]) -> None:
    script.says(f"GET /api/tasks/{TASK}", {"status": "running"})
    with pytest.raises(StillLive, match="is still running"):
        end()


def test_a_waiting_task_that_a_queue_holds_is_not_lost(script: Script, end: Callable[[], TaskEnd]) -> None:
    script.says(f"GET /api/tasks/{TASK}", {"status": "scheduled"})
    script.says(f"POST /api/tasks/{TASK}/cancel", (404, {"error": "task not found or not active"}))
    script.says("GET /api/tasks", {"tasks": [], "queue": {"pending": [{"id": TASK}], "running": []}})
    with pytest.raises(StillLive):
        end()
    script.says("GET /api/tasks", {"tasks": [], "queue": {"pending": [], "running": []}})
    assert end() is TaskEnd.LOST


def test_a_task_that_the_server_retried_under_an_id_of_its_own_is_cancelled_there(
    script: Script, end: Callable[[], TaskEnd]
) -> None:
    script.says(f"POST /api/tasks/{TASK}/cancel", (404, {"error": "task not found or not active"}))
    script.says("POST /api/tasks/retried/cancel", {"ok": True})
    retried = {"task_id": "retried", "original_task_id": TASK}
    script.says(f"GET /api/tasks/{TASK}", *[retried | {"status": "running"}] * 2, retried | {"status": "cancelled"})
    assert end() is TaskEnd.CANCELLED
    assert "POST /api/tasks/retried/cancel" in script.asked


def test_the_password_is_that_of_the_settings_file_that_the_run_used(script: Script, url: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    run = recorded(tmp_path, url, settings={"path": str(settings)})
    script.password = "Basic " + base64.b64encode(b"obo-bench:correct horse").decode()
    with RunServer(run) as server, pytest.raises(PreflightRefused, match="network password"):
        server.check()
    settings.write_text('{"OUROBOROS_NETWORK_PASSWORD": "correct horse"}')
    with RunServer(run) as server:
        server.check()


@pytest.mark.parametrize(
    "address", ["", "http://[redacted]@host:1", "http://host:1/[redacted]", "http://", "nonsense", "http://[::1"]
)
def test_an_address_that_is_none_is_told_and_no_crash(address: str, tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match="--ouroboros-url"):
        RunServer(recorded(tmp_path, address))
