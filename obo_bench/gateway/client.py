"""The one HTTP client of the server (the only module that imports httpx).

Every call has a total deadline and a size limit; no proxy, no redirect and no compression is ever taken.
"""

import json
import os
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from obo_bench.gateway.errors import GatewayAnswerInvalid, GatewayRefused, GatewayUnreachable
from obo_bench.gateway.wire import Created, Health, Queue, State, TaskRecord

CALL_DEADLINE_SEC = 30.0
"""A healthy server answers in milliseconds; a record of some MB in well under a second."""
LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes; six-hour records have some MB."""
_ERROR_TEXT_LIMIT = 2000

M = TypeVar("M", bound=BaseModel)


class GatewayClient:
    """Speaks to one server; a context manager, safe to share between threads."""

    def __init__(self, base_url: str, *, password: str | None = None, deadline_sec: float = CALL_DEADLINE_SEC) -> None:
        self.base_url = base_url.rstrip("/")
        """The address as given, without a final slash."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if password:
            headers["X-Ouroboros-Password"] = password
        self._deadline_sec = deadline_sec
        self._http = httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=httpx.Timeout(deadline_sec, connect=min(10.0, deadline_sec)),
            trust_env=False,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def health(self) -> Health:
        """Return the server's identity."""
        return self._model(Health, self._json("GET", "/api/health"))

    def state(self) -> State:
        """Return readiness and load."""
        return self._model(State, self._json("GET", "/api/state"))

    def settings(self) -> dict[str, Any]:
        """Return the server's settings; they hold the beginnings of real keys, so never store them as they are."""
        return self._json("GET", "/api/settings")

    def create_task(self, body: Mapping[str, Any]) -> Created:
        """Submit a task. GatewayUnreachable means that it may or may not have arrived."""
        return self._model(Created, self._json("POST", "/api/tasks", body))

    def task(self, task_id: str) -> TaskRecord | None:
        """Return a task's record, or None when the server does not know the id."""
        try:
            return self._model(TaskRecord, self._json("GET", f"/api/tasks/{quote(task_id, safe='')}"))
        except GatewayRefused as refused:
            if refused.status == 404 and refused.text == "task not found":
                return None
            raise

    def queue(self) -> Queue:
        """Return the live queue."""
        answer = self._json("GET", "/api/tasks?limit=1")
        return self._model(Queue, answer.get("queue") or {})

    def cancel(self, task_id: str) -> bool:
        """Cancel a task; False when it was not active any more. The command in its container goes on."""
        try:
            self._json("POST", f"/api/tasks/{quote(task_id, safe='')}/cancel")
        except GatewayRefused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def events(self, task_id: str, *, cursor: int = 0, wait_sec: int = 1) -> list[dict[str, Any]]:
        """Return the events after `cursor` (a long poll of at most `wait_sec`); at-least-once, numbers not stable."""
        path = f"/api/tasks/{quote(task_id, safe='')}/events?cursor={cursor}&wait={wait_sec}"
        _, body = self._exchange("GET", path, None, extra_sec=wait_sec)
        found = []
        for line in body.split(b"\n"):
            if line.startswith(b"data:"):
                try:
                    event = json.loads(line[5:])
                except (ValueError, RecursionError):
                    continue
                if isinstance(event, dict):
                    found.append(event)
        return found

    def _model(self, model: type[M], answer: dict[str, Any]) -> M:
        try:
            return model.model_validate(answer)
        except ValidationError as error:
            raise GatewayAnswerInvalid(f"{self.base_url} answered with fields of the wrong type: {error}") from error

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        response, answer = self._exchange(method, path, content)
        where = f"{method} {self.base_url}{path}"
        if response.is_redirect:
            raise GatewayAnswerInvalid(f"{where} redirects to {response.headers.get('location')!r}; not followed")
        if not response.is_success:
            raise GatewayRefused(response.status_code, _error_text(answer), where=where)
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("content-type", "no content type")
            raise GatewayAnswerInvalid(f"{where} did not answer with JSON ({kind})") from error
        if not isinstance(value, dict):
            raise GatewayAnswerInvalid(f"{where} did not answer with a JSON object")
        return value

    def _exchange(
        self, method: str, path: str, content: bytes | None, *, extra_sec: float = 0.0
    ) -> tuple[httpx.Response, bytes]:
        deadline = time.monotonic() + self._deadline_sec + extra_sec
        where = f"{method} {self.base_url}{path}"
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            with self._http.stream(method, path, content=content, headers=headers) as response:
                return response, _read(response, deadline, where)
        except httpx.TransportError as error:
            raise GatewayUnreachable(f"{where}: {str(error) or type(error).__name__}") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise GatewayUnreachable(f"{where}: {error}") from error


def password_from_environment(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the server's network password if the environment names one."""
    return environ.get("OUROBOROS_NETWORK_PASSWORD") or None


def _read(response: httpx.Response, deadline: float, where: str) -> bytes:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise GatewayAnswerInvalid(f"{where} answered with more than {LARGEST_ANSWER} bytes")
        if time.monotonic() > deadline:
            raise GatewayUnreachable(f"{where}: the answer was not complete within its deadline")
    return bytes(body)


def _error_text(answer: bytes) -> str:
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(value.get("error"), str):
        return str(value["error"])[:_ERROR_TEXT_LIMIT]
    return answer[:_ERROR_TEXT_LIMIT].decode("utf-8", "replace")
