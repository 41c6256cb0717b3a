"""The event stream of a task: a long poll that replays what is past, at least once, and ends with the task."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from obo_bench.practice.standin.clock import now_text
from obo_bench.practice.standin.records import FINAL
from obo_bench.practice.standin.store import TaskStore

CONTENT_TYPE = "text/event-stream; charset=utf-8"
"""What every answer of the event address is, errors included."""

DEFAULT_WAIT_SEC = 30.0
"""How long a stream waits for more without being told."""

MAX_WAIT_SEC = 120.0
"""The longest that it waits."""

_TWICE = frozenset({"tool_call", "task_cost_finalized"})
_SOURCES = {"tool_call": "tools", "message": "chat", "task_result": "task_result"}
_LOOK_SEC = 0.5


class EventLog:
    """The events of all tasks; safe to use from several threads."""

    def __init__(self, store: TaskStore) -> None:
        """Take up the events that an earlier process left in `store`."""
        self._store = store
        self._changed = threading.Condition()
        self._events: dict[str, list[dict[str, Any]]] = {}
        self._closed = False

    def add(self, task_id: str, kind: str, data: dict[str, Any] | None = None) -> None:
        """Append an event; a `task_result` carries no data, it shows the record of the moment it is sent."""
        moment = now_text()
        event = {"source": _SOURCES.get(kind, "events"), "line": 0, "ts": moment, "type": kind, "task_id": task_id}
        if data is not None:
            event["data"] = {"ts": moment, "type": kind, "task_id": task_id, **data}
        with self._changed:
            # Two logs of the real server hold these events, and its stream sends both.
            for _ in range(2 if kind in _TWICE else 1):
                self._of(task_id).append(event)
                self._store.append_event(task_id, event)
            self._changed.notify_all()

    def close(self) -> None:
        """End all streams."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def stream(
        self, task_id: str, cursor: int, wait_sec: float, record: Callable[[], dict[str, Any]]
    ) -> Iterator[bytes]:
        """Yield the events after `cursor` until the task is final or `wait_sec` seconds have passed."""
        end = time.monotonic() + wait_sec
        sent = cursor
        while True:
            current = record()
            for seq, event in self._after(task_id, sent):
                yield encoded(_shown(event, current), seq)
                sent = seq
            if current["status"] in FINAL or self._closed:
                return
            left = end - time.monotonic()
            if left <= 0:
                yield b": heartbeat\n\n"
                return
            self._wait(task_id, sent, min(left, _LOOK_SEC))

    def _wait(self, task_id: str, sent: int, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._of(task_id)) > sent, seconds)

    def _after(self, task_id: str, cursor: int) -> list[tuple[int, dict[str, Any]]]:
        with self._changed:
            events = self._of(task_id)
            return list(enumerate(events, 1))[cursor:]

    def _of(self, task_id: str) -> list[dict[str, Any]]:
        if task_id not in self._events:
            self._events[task_id] = self._store.load_events(task_id)
        return self._events[task_id]


def encoded(event: dict[str, Any], seq: int) -> bytes:
    """Return one event as it goes over the wire."""
    text = json.dumps({**event, "seq": seq}, ensure_ascii=True)
    return f"id: {seq}\nevent: task_event\ndata: {text}\n\n".encode("ascii")


def _shown(event: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    return {**event, "data": record} if event["type"] == "task_result" else event
