"""A server whose tasks a test makes up: what it says of each, which are live, and what a cancel does to them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.conftest import answering

Record = dict[str, Any]


class TaskServer:
    """The state behind the address; `retried` maps an id to the one under which the server goes on with the task."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.retried: dict[str, str] = {}
        self.live: set[str] = set()
        self.cancelled: list[str] = []
        self.state: dict[str, Any] = {"budget_limit": 10.0, "spent_usd": 0.0}
        self.version = "6.75.0"
        self.url = ""

    def put(self, task_id: str, status: str, **fields: Any) -> None:
        self.records[task_id] = {"task_id": task_id, "status": status, **fields}
        if status in ("running", "scheduled"):
            self.live.add(task_id)

    def get(self, path: str) -> tuple[int, Record]:
        if path == "/api/health":
            return 200, {"runtime_version": self.version}
        if path == "/api/state":
            return 200, self.state
        if path == "/api/tasks":
            return 200, {"tasks": [], "queue": {"pending": [], "running": [{"id": name} for name in self.live]}}
        task_id = unquote(path.removeprefix("/api/tasks/"))
        record = self.records.get(self.retried.get(task_id, task_id))
        return (200, record) if record else (404, {"error": "task not found"})

    def cancel(self, task_id: str) -> tuple[int, Record]:
        self.cancelled.append(task_id)
        if task_id not in self.live:
            return 404, {"error": "task not found or not active", "task_id": task_id}
        self.live.remove(task_id)
        self.records[task_id] |= {"status": "cancelled"}
        return 200, {"ok": True, "task_id": task_id}


@contextmanager
def task_server() -> Iterator[TaskServer]:
    made = TaskServer()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(*made.get(urlsplit(self.path).path))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._say(*made.cancel(self.path.split("/")[-2]))

        def _say(self, status: int, value: Record) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        made.url = f"http://{host}"
        yield made
