"""The book of tasks: which exist, which wait, which run. Every change of a task goes through here, under one lock."""

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from obo_bench.practice.standin import records
from obo_bench.practice.standin.admission import Admitted
from obo_bench.practice.standin.artifacts import keep_preflight
from obo_bench.practice.standin.clock import now_text
from obo_bench.practice.standin.config import StandInConfig
from obo_bench.practice.standin.contract import first_record
from obo_bench.practice.standin.events import EventLog
from obo_bench.practice.standin.executor_ref import RequestRefusedError
from obo_bench.practice.standin.fault_book import FaultBook
from obo_bench.practice.standin.meter import Meter
from obo_bench.practice.standin.scenarios import ORPHANED, SCENARIOS, Scenario
from obo_bench.practice.standin.store import TaskStore

JsonObject = dict[str, Any]
"""One JSON object."""


@dataclass
class Job:
    """A task in a worker's hands."""

    task_id: str
    """Which task."""
    worker_id: int
    """Whose hands."""
    scenario: Scenario
    """How it goes."""
    meter: Meter
    """What it has used."""
    started: float = field(default_factory=time.monotonic)
    """When it was taken, on the monotonic clock."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the worker must drop it at once."""


class TaskBook:
    """All tasks of one server; safe to use from several threads."""

    def __init__(self, config: StandInConfig, store: TaskStore, events: EventLog, faults: FaultBook) -> None:
        """Take up the records that an earlier process left; its waiting tasks stay lost unless they are to be kept."""
        self._config = config
        self._store = store
        self._events = events
        self._faults = faults
        self._scenarios: dict[str, Scenario] = {}
        self._records = store.load()
        self._changed = threading.Condition()
        self._pending = [name for name, record in self._records.items() if config.keep_waiting and _waits(record)]
        self._paused: set[str] = set()
        self._resumed: set[str] = set()
        self._running: dict[str, Job] = {}
        self._closed = False
        self._orphans = [name for name, record in self._records.items() if record["status"] == "running"]

    def has(self, task_id: str) -> bool:
        """Say whether the id is taken."""
        return task_id in self._records

    def get(self, task_id: str) -> JsonObject | None:
        """Return a task's record; the events of its last change are in the log by then."""
        with self._changed:
            return self._records.get(task_id)

    def newest(self) -> list[JsonObject]:
        """Return all records, the latest change first."""
        with self._changed:
            return sorted(self._records.values(), key=lambda record: str(record["ts"]), reverse=True)

    def admit(self, admitted: Admitted) -> str:
        """Accept a task durably, queue it, return its id; raises RequestRefusedError if the id was taken meanwhile."""
        task_id = admitted.task_id or secrets.token_hex(4)
        record = first_record(task_id, admitted, self._config.data_dir)
        with self._changed:
            if self._closed:
                raise RequestRefusedError("supervisor has no running workers", 503)
            if self.has(task_id):
                raise RequestRefusedError(f"task_id already exists: {task_id}", 409)
            preflight = keep_preflight(self._config.data_dir, task_id, record["metadata"]["workspace_preflight"])
            self._publish(records.with_artifacts(record, [preflight]))
            self._store.log_accepted(task_id, str(admitted.metadata.get("programbench_instance_id") or ""))
            self._pending.append(task_id)
            self._changed.notify_all()
        return task_id

    def take(self, worker_id: int) -> Job | None:
        """Wait for a task and take it; None when the server goes down."""
        with self._changed:
            while not self._closed:
                task_id = next((name for name in self._pending if name not in self._paused), None)
                if task_id is None:
                    self._changed.wait()
                elif (scenario := self._scenario(task_id)).paused and task_id not in self._resumed:
                    self._paused.add(task_id)
                    self._publish(records.paused(self._records[task_id]))
                else:
                    self._pending.remove(task_id)
                    job = self._running[task_id] = Job(task_id, worker_id, scenario, Meter(scenario.usd_per_round))
                    self._publish(records.running(self._records[task_id]))
                    return job
        return None

    def move(self, job: Job, record: JsonObject, *, final: bool = False) -> bool:
        """Publish the next stage of a running task; False when the task was taken away from the worker."""
        with self._changed:
            if self._running.get(job.task_id) is not job:
                return False
            self._publish(record)
            if final:
                del self._running[job.task_id]
                self._changed.notify_all()
            return True

    def cancel(self, task_id: str) -> bool:
        """Cancel a waiting or running task; False when it is neither. Commands in its container live on."""
        with self._changed:
            job = self._running.pop(task_id, None)
            if job is not None:
                job.stop.set()
                text = "Running task cancelled and worker terminated."
                self._publish(records.cancelled(self._records[task_id], text, job.meter))
            elif task_id in self._pending:
                self._pending.remove(task_id)
                self._paused.discard(task_id)
                text = "Task cancelled by user/agent request."
                self._publish(records.cancelled(self._records[task_id], text, None))
            else:
                return False
            return True

    def resume(self, task_id: str) -> bool:
        """Let a paused task run; False when it is not paused."""
        with self._changed:
            if task_id not in self._paused:
                return False
            self._paused.discard(task_id)
            self._resumed.add(task_id)
            self._publish(records.resumed(self._records[task_id]))
            self._changed.notify_all()
            return True

    def holds_paused(self) -> bool:
        """Say whether a task waits because the budget is spent."""
        with self._changed:
            return bool(self._paused)

    def reconcile(self) -> None:
        """Declare failed what a killed server left running."""
        with self._changed:
            for task_id in self._orphans:
                self._publish(records.ended_by_supervisor(self._records[task_id], ORPHANED, {}))
            self._orphans = []

    def close(self) -> None:
        """Cancel every waiting and running task and let no more in: the server goes down in an orderly way."""
        with self._changed:
            self._closed = True
            for task_id, meter in self._live().items():
                self._publish(records.cancelled(self._records[task_id], records.SHUT_DOWN, meter, by_shutdown=True))
            for job in self._running.values():
                job.stop.set()
            self._pending, self._running = [], {}
            self._changed.notify_all()

    def queue(self, workers: int) -> JsonObject:
        """Return the live queue; `workers` is how many there are."""
        with self._changed:
            pending = [self._row(task_id) for task_id in self._pending]
            running = [self._row(job.task_id) | _running_row(job) for job in self._running.values()]
        return {
            "ts": now_text(),
            "reason": "main_loop",
            "pending_count": len(pending),
            "running_count": len(running),
            "reaping_count": 0,
            "worker_total": workers,
            "assignable_idle_workers": max(0, workers - len(running)),
            "acceptance_fences": [],
            "budget_root_fences": [],
            "pending": pending,
            "running": running,
        }

    def _scenario(self, task_id: str) -> Scenario:
        """Return how a task goes, decided when a worker first looks at it."""
        if task_id not in self._scenarios:
            instance_id = str(self._records[task_id]["metadata"].get("programbench_instance_id") or "")
            name = self._faults.scenario(task_id, instance_id, self._config.scenario)
            self._scenarios[task_id] = SCENARIOS[name]
        return self._scenarios[task_id]

    def _row(self, task_id: str) -> JsonObject:
        record = self._records[task_id]
        brief = {name: record[name] for name in ("description", "workspace_root", "deadline_at", "session_id")}
        return {"id": task_id, "type": "task", "priority": 0, "attempt": 1, "task": {"id": task_id, **brief}}

    def _live(self) -> Mapping[str, Meter | None]:
        waiting: dict[str, Meter | None] = dict.fromkeys(self._pending)
        return {**waiting, **{name: job.meter for name, job in self._running.items()}}

    def _publish(self, record: JsonObject) -> None:
        self._store.save(record)
        self._records[record["task_id"]] = record
        self._events.add(record["task_id"], "task_result")


def _waits(record: JsonObject) -> bool:
    return record["status"] == "scheduled" and "resource_limit" not in record


def _running_row(job: Job) -> JsonObject:
    return {
        "worker_id": job.worker_id, "runtime_sec": round(time.monotonic() - job.started, 2),
        "heartbeat_lag_sec": 0.0, "soft_sent": False,
    }  # fmt: skip
