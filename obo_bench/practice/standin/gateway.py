"""The routes of the stand-in: from a request to an answer, without sockets."""

import json
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.practice.standin import events, views
from obo_bench.practice.standin.admission import check_request, parse_object
from obo_bench.practice.standin.artifacts import artifact_dir
from obo_bench.practice.standin.auth import Gatekeeper
from obo_bench.practice.standin.config import TASK_ID, TASK_ID_ERROR, StandInConfig
from obo_bench.practice.standin.executor_ref import RequestRefusedError
from obo_bench.practice.standin.scenarios import SCENARIOS
from obo_bench.practice.standin.supervisor import Supervisor

_TASK = re.compile(r"/api/tasks/(?P<task_id>[^/]+)(?:/(?P<part>events|cancel|resume))?")
_ARTIFACT = re.compile(r"/api/tasks/(?P<task_id>[^/]+)/artifacts/(?P<name>[^/]+)")
_READ = ("HEAD", "GET")
_Handlers = Mapping[str, Callable[["Request"], "Answer"]]


@dataclass(frozen=True)
class Request:
    """What came over the wire."""

    method: str
    """In capitals."""
    path: str
    """Decoded, without the query."""
    query: Mapping[str, str]
    """The last value of each parameter."""
    headers: Mapping[str, str]
    """By lower-case name."""
    peer: str
    """The address at the other end of the socket."""
    body: bytes = b""
    """Empty where there was none."""


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    status: int
    """The HTTP status."""
    body: bytes | Iterator[bytes]
    """All of it, or a stream."""
    content_type: str = "application/json"
    """Its type."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers."""
    cut_after: int | None = None
    """Bytes of the body after which the connection is closed, without even a status line after 0; None sends all."""


class Gateway:
    """Answers requests."""

    def __init__(self, config: StandInConfig, supervisor: Supervisor, version: str, port: int) -> None:
        """`port` is the one that is really served."""
        self._config = config
        self._supervisor = supervisor
        self._version = version
        self._port = port
        self._gatekeeper = Gatekeeper(config.network_password)
        self._started = time.monotonic()

    def answer(self, request: Request) -> Answer:
        """Answer one request; never raises for what a client may send."""
        if not self._gatekeeper.allows(request.path, request.peer, request.headers):
            return error_answer(401, "Authentication required.")
        handlers = self._handlers(request)
        if not handlers:
            return Answer(404, b"Not Found", "text/plain; charset=utf-8")
        handler = handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            allowed = [name for method in list(handlers)[:1] for name in (_READ if method == "GET" else (method,))]
            return Answer(405, b"Method Not Allowed", "text/plain; charset=utf-8", {"allow": ", ".join(allowed)})
        try:
            return handler(request)
        except RequestRefusedError as refused:
            return error_answer(refused.status, refused.error)
        except (OSError, ValueError) as problem:
            return error_answer(503, str(problem))

    def _handlers(self, request: Request) -> _Handlers:
        """Return the handlers of a path by method."""
        fixed: dict[str, _Handlers] = {
            "/api/health": {"GET": lambda _: json_answer(views.health(self._version))},
            "/api/state": {"GET": self._state},
            "/api/settings": {"GET": lambda _: json_answer(views.settings(self._config, self._port))},
            "/api/tasks": {"GET": self._list, "POST": self._create},
            "/auth/login": {"POST": self._login},
            "/auth/logout": {"POST": lambda _: json_answer({"ok": True})},
        }
        if request.path in fixed:
            return fixed[request.path]
        if _ARTIFACT.fullmatch(request.path):
            return {"GET": self._artifact}
        found = _TASK.fullmatch(request.path)
        if found is None:
            return {}
        parts: dict[str | None, _Handlers] = {
            None: {"GET": self._get},
            "events": {"GET": self._events},
            "cancel": {"POST": self._cancel},
            "resume": {"POST": self._resume},
        }
        return parts[found["part"]]

    def _state(self, _: Request) -> Answer:
        supervisor = self._supervisor
        queue = supervisor.book.queue(supervisor.workers)
        paused = SCENARIOS[self._config.scenario].paused or supervisor.book.holds_paused()
        uptime = time.monotonic() - self._started
        return json_answer(
            views.state(
                supervisor.ready,
                queue,
                supervisor.book.newest(),
                paused=paused,
                uptime=uptime,
                sha=self._config.sha,
            )
        )

    def _list(self, request: Request) -> Answer:
        statuses = [name.strip() for name in request.query.get("status", "").split(",") if name.strip()]
        limit = int(_number(request.query.get("limit"), 50, 1, 500))
        rows = [row for row in self._supervisor.book.newest() if not statuses or row["status"] in statuses]
        return json_answer({"tasks": rows[:limit], "queue": self._supervisor.book.queue(self._supervisor.workers)})

    def _create(self, request: Request) -> Answer:
        book = self._supervisor.book
        admitted = check_request(parse_object(request.body), self._config, self._supervisor.unready, book.has)
        task_id = book.admit(admitted)
        self._supervisor.stopping.wait(self._config.answer_delay_sec)
        return json_answer({"ok": True, "task_id": task_id, "status": "scheduled"})

    def _get(self, request: Request) -> Answer:
        record = self._supervisor.book.get(_task_id(request))
        return json_answer(record) if record else error_answer(404, "task not found")

    def _cancel(self, request: Request) -> Answer:
        task_id = _task_id(request)
        if self._supervisor.book.cancel(task_id):
            return json_answer({"ok": True, "task_id": task_id})
        return json_answer({"error": "task not found or not active", "task_id": task_id}, 404)

    def _resume(self, request: Request) -> Answer:
        task_id = _task_id(request)
        if self._supervisor.book.resume(task_id):
            return json_answer({"ok": True, "task_id": task_id, "same_generation": True})
        return json_answer({"error": "task_not_pending", "task_id": task_id}, 404)

    def _events(self, request: Request) -> Answer:
        found = _TASK.fullmatch(request.path)
        assert found is not None
        task_id, book = found["task_id"], self._supervisor.book
        if not TASK_ID.fullmatch(task_id):
            return _event_error(400, TASK_ID_ERROR, task_id)
        record = book.get(task_id)
        if record is None:
            return _event_error(404, "task not found", task_id)
        cursor = int(_number(request.query.get("cursor"), 0, 0, 10**9))
        wait = _number(request.query.get("wait"), events.DEFAULT_WAIT_SEC, 0, events.MAX_WAIT_SEC)
        stream = self._supervisor.events.stream(task_id, cursor, wait, lambda: book.get(task_id) or record)
        return Answer(200, stream, events.CONTENT_TYPE)

    def _artifact(self, request: Request) -> Answer:
        found = _ARTIFACT.fullmatch(request.path)
        assert found is not None
        task_id, name = found["task_id"], found["name"]
        record = self._supervisor.book.get(task_id) if TASK_ID.fullmatch(task_id) else None
        if record is None or name not in {entry["name"] for entry in record["artifacts"]}:
            return json_answer({"error": "artifact not found", "task_id": task_id, "artifact": name}, 404)
        content = Path(artifact_dir(self._config.data_dir, task_id), name).read_bytes()
        return Answer(200, content, "application/json" if name.endswith(".json") else "text/x-diff; charset=utf-8")

    def _login(self, request: Request) -> Answer:
        shown = parse_object(request.body)
        cookie = self._gatekeeper.login(str(shown.get("password") or ""))
        if cookie is None:
            return error_answer(401, "Invalid password.")
        answer = json_answer({"ok": True, "next": str(shown.get("next") or "/")})
        return Answer(200, answer.body, headers={"set-cookie": cookie})


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return a JSON answer, compact as the server's."""
    return Answer(status, json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii"))


def error_answer(status: int, error: str) -> Answer:
    """Return the JSON form of an error."""
    return json_answer({"error": error}, status)


def parse_target(target: str) -> tuple[str, dict[str, str]]:
    """Return the decoded path and the query of a request line."""
    path, _, query = target.partition("?")
    return urllib.parse.unquote(path, errors="replace"), dict(urllib.parse.parse_qsl(query, errors="replace"))


def _task_id(request: Request) -> str:
    found = _TASK.fullmatch(request.path)
    assert found is not None
    if not TASK_ID.fullmatch(found["task_id"]):
        raise RequestRefusedError(TASK_ID_ERROR)
    return found["task_id"]


def _event_error(status: int, error: str, task_id: str) -> Answer:
    event = {"type": "error", "error": error, "task_id": task_id}
    return Answer(status, iter([events.encoded(event, 1)]), events.CONTENT_TYPE)


def _number(text: str | None, default: float, low: float, high: float) -> float:
    """Return a parameter within its bounds; what is no number is the default."""
    try:
        value = float(text) if text else default
    except ValueError:
        return default
    return min(max(value, low), high) if value == value else default  # noqa: PLR0124  # NaN
