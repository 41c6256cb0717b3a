"""The files of a stand-in's data directory, which outlive its process: task records and the log of accepted tasks."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from obo_bench.core.files import line_bytes, read_json_object, write_bytes
from obo_bench.practice.standin.config import TASK_ID


class TaskStore:
    """Reads and writes records; safe to use from several threads."""

    def __init__(self, data_dir: Path) -> None:
        """Make the directories that are missing; raises OSError."""
        self._data_dir = data_dir
        self._results = data_dir / "task_results"
        self._lock = threading.Lock()
        self._results.mkdir(parents=True, exist_ok=True)
        (data_dir / "state" / "events").mkdir(parents=True, exist_ok=True)

    def load(self) -> dict[str, dict[str, Any]]:
        """Return all records by task id, the oldest first; files that hold something else are passed over."""
        found = (read_json_object(path) for path in self._results.glob("*.json"))
        records = [record for record in found if record and TASK_ID.fullmatch(str(record.get("task_id")))]
        return {record["task_id"]: record for record in sorted(records, key=lambda record: str(record.get("ts")))}

    def save(self, record: dict[str, Any]) -> None:
        """Replace a task's record durably."""
        write_bytes(self._results / f"{record['task_id']}.json", line_bytes(record))

    def log_accepted(self, task_id: str, instance_id: str) -> None:
        """Append one durable line for a task that was accepted."""
        line = line_bytes({"task_id": task_id, "instance_id": instance_id, "ts_unix": time.time()})
        with self._lock, (self._data_dir / "tasks.jsonl").open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())

    def save_port(self, port: int) -> None:
        """Leave the port that is really served where clients look for it."""
        write_bytes(self._data_dir / "state" / "server_port", str(port).encode())

    def append_event(self, task_id: str, event: dict[str, Any]) -> None:
        """Append one event of a task; a full disk loses events, not tasks."""
        with contextlib.suppress(OSError), self._events(task_id).open("ab") as stream:
            stream.write(line_bytes(event))

    def load_events(self, task_id: str) -> list[dict[str, Any]]:
        """Return a task's events; a torn last line is passed over."""
        try:
            lines = self._events(task_id).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        events = []
        for line in lines:
            with contextlib.suppress(ValueError):
                events.append(json.loads(line))
        return events

    def _events(self, task_id: str) -> Path:
        return self._data_dir / "state" / "events" / f"{task_id}.jsonl"
