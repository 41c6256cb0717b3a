"""The client of the server's HTTP interface: one method for each question, typed answers, typed errors."""

import base64
import json
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from obo_bench.core.redact import process_redactor, url_secrets
from obo_bench.gateway.errors import GatewayAnswerInvalid, GatewayRefused
from obo_bench.gateway.foreign_json import parse
from obo_bench.gateway.http import LARGEST_ANSWER, Answer, BoundedHttp, json_object
from obo_bench.gateway.wire import Created, Health, Queue, State, TaskRecord

CALL_DEADLINE_SEC = 30.0
"""A healthy server answers in milliseconds; a record of some MB in well under a second."""
SMALL_ANSWER = 4 * 1024 * 1024
"""Bytes; everything but records and events has some ten kB."""
_ERROR_TEXT_LIMIT = 2000
_FIELDS_SHOWN = 3

M = TypeVar("M", bound=BaseModel)


class GatewayClient:
    """Speaks to one server; a context manager, safe to share between threads."""

    def __init__(self, base_url: str, *, password: str | None = None, deadline_sec: float = CALL_DEADLINE_SEC) -> None:
        process_redactor().learn(url_secrets(base_url))
        self._http = BoundedHttp(base_url, headers=_authorization(password), deadline_sec=deadline_sec)
        self.base_url = self._http.base_url
        """The address as given, without a final slash."""

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections; calls under way end as GatewayUnreachable."""
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
            return self._model(TaskRecord, self._json("GET", _task_path(task_id), limit=LARGEST_ANSWER))
        except GatewayRefused as refused:
            if refused.status == 404 and refused.text == "task not found":
                return None
            raise

    def queue(self) -> Queue:
        """Return the live queue."""
        answer = self._json("GET", "/api/tasks?limit=1", limit=LARGEST_ANSWER)
        return self._model(Queue, answer.get("queue") or {})

    def cancel(self, task_id: str) -> bool:
        """Cancel a task; False when it was not active any more. The command in its container goes on."""
        try:
            self._json("POST", f"{_task_path(task_id)}/cancel")
        except GatewayRefused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def events(self, task_id: str, *, cursor: int = 0, wait_sec: int = 1) -> list[dict[str, Any]]:
        """Return the events after `cursor` (a long poll of at most `wait_sec`); at-least-once, numbers not stable."""
        path = f"{_task_path(task_id)}/events?cursor={cursor}&wait={wait_sec}"
        answer = self._http.exchange("GET", path, extra_sec=wait_sec)
        found = []
        for line in answer.body.split(b"\n"):
            if line.startswith(b"data:"):
                try:
                    event = parse(line[5:])
                except (ValueError, RecursionError):
                    continue
                if isinstance(event, dict):
                    found.append(event)
        return found

    def _model(self, model: type[M], answer: dict[str, Any]) -> M:
        try:
            return model.model_validate(answer)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)[:_FIELDS_SHOWN]
            )
            raise GatewayAnswerInvalid(f"{self.base_url} answered with fields of the wrong type: {wrong}") from error

    def _json(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, limit: int = SMALL_ANSWER
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        answer = self._http.exchange(method, path, content=content, headers=headers, limit=limit)
        where = f"{method} {self.base_url}{path}"
        if not 200 <= answer.status < 300:
            raise GatewayRefused(answer.status, _error_text(answer, where), where=where)
        return json_object(answer, where)


def password_from_environment(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the server's network password if the environment names one."""
    return environ.get("OUROBOROS_NETWORK_PASSWORD") or None


def _authorization(password: str | None) -> dict[str, str]:
    """Return the header that carries any password, also one that is not ASCII; the server looks at no user name."""
    if not password:
        return {}
    token = base64.b64encode(f"obo-bench:{password}".encode("utf-8", "surrogateescape")).decode()
    process_redactor().learn((password, token))
    return {"Authorization": f"Basic {token}"}


def _task_path(task_id: str) -> str:
    return f"/api/tasks/{quote(task_id, safe='')}"


def _error_text(answer: Answer, where: str) -> str:
    try:
        error = json_object(answer, where).get("error")
    except GatewayAnswerInvalid:
        error = None
    text = error if isinstance(error, str) else answer.body[: 4 * _ERROR_TEXT_LIMIT].decode("utf-8", "replace")
    return text[:_ERROR_TEXT_LIMIT]
