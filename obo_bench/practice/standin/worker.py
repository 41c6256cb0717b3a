"""A worker's hands: takes tasks from the book and leads each through its life, as the scenario has it."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from obo_bench.practice.standin import records
from obo_bench.practice.standin.artifacts import keep_outcome
from obo_bench.practice.standin.config import StandInConfig
from obo_bench.practice.standin.events import EventLog
from obo_bench.practice.standin.records import Work
from obo_bench.practice.standin.scenarios import OUT_OF_TIME, Ending
from obo_bench.practice.standin.shell import DeadlinePassedError, Shell, TaskCancelledError
from obo_bench.practice.standin.solver import Solver, TaskSource
from obo_bench.practice.standin.tasks import Job, TaskBook

_CLOSING_ROUNDS = 4
"""Model calls that follow the last tool call: the answer and three reviewers."""


class Worker:
    """One of the tasks that run at once."""

    def __init__(self, config: StandInConfig, book: TaskBook, events: EventLog, task_source: TaskSource) -> None:
        self._config = config
        self._book = book
        self._events = events
        self._task_source = task_source

    def run(self, worker_id: int) -> None:
        """Work until the book is closed."""
        while (job := self._book.take(worker_id)) is not None:
            record = self._book.get(job.task_id)
            assert record is not None
            try:
                ending, work = self._work(job, record)
                self._end(job, record, ending, work)
            except TaskCancelledError:
                continue

    def _work(self, job: Job, record: dict[str, Any]) -> tuple[Ending, Work]:
        scenario = job.scenario
        shell = Shell(
            record["metadata"].get("executor_ref"), record["workspace_root"], job.stop,
            _deadline(record["deadline_at"]), scenario.docker_host,
        )  # fmt: skip
        root = record["workspace_root"]
        solver = Solver(
            shell, Path(root) if root else None, job.meter,
            lambda kind, data: self._events.add(job.task_id, kind, data),
        )  # fmt: skip
        try:
            if not scenario.variant:
                shell.sleep(self._config.solve_delay_sec)
                return scenario.ending, solver.work("No work was done.")
            solver.look(scenario.command, self._config.solve_delay_sec)
            instance_id = str(record["metadata"].get("programbench_instance_id") or "")
            task = self._task_source(instance_id) if instance_id else None
            return scenario.ending, solver.solve(task, scenario.variant)
        except DeadlinePassedError:
            return OUT_OF_TIME, solver.work("The deadline came before the work was done.")

    def _end(self, job: Job, record: dict[str, Any], ending: Ending, work: Work) -> None:
        job.meter.rounds += _CLOSING_ROUNDS if ending.execution == "ok" else 1
        if ending.by_supervisor:
            usage = job.meter.fields() | {"cost_final": True}
            self._book.move(job, records.ended_by_supervisor(record, ending, usage), final=True)
            return
        done = records.finalizing(record, ending, work, job.meter, job.scenario.padding_bytes)
        if not self._book.move(job, done):
            return
        self._events.add(job.task_id, "task_done", {"status": ending.status, "reason_code": ending.reason_code})
        self._events.add(
            job.task_id, "task_cost_finalized",
            {"root_task_id": job.task_id, "post_task_status": ending.status, **job.meter.family_fields(final=True)},
        )  # fmt: skip
        status, artifacts = keep_outcome(self._config.data_dir, done)
        job.stop.wait(self._config.finalize_delay_sec)
        self._book.move(job, records.finished(done, ending, status, artifacts), final=True)


def _deadline(text: str) -> float | None:
    """Return a record's deadline on the monotonic clock."""
    if not text:
        return None
    return time.monotonic() + (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds()
