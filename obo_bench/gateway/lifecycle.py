"""The life of one task: submitted under our own id, watched until it has settled, re-attached after a restart."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.cost import running_cost
from obo_bench.gateway.errors import GatewayError, GatewayRefused
from obo_bench.gateway.settlement import Executor, ExecutorTrouble, SettledBy, Settlement
from obo_bench.gateway.wire import TaskRecord

FIRST_POLL_SEC = 0.05
SLOWEST_POLL_SEC = 3.0
"""Each look makes the server read files; half of this is lost, on average, when a long task has settled."""
POLL_GROWTH = 1.4
OUTAGE_SEC = 120.0
"""How long the server may be away before its absence counts."""
LOST_CHECK_SEC = 8.0
"""How often a waiting task is looked up in the live queue."""
WATCH_SEC = 3.0
"""How often the container is looked at."""
SUBMIT_TRIES = 5
SUBMIT_PAUSE_SEC = 2.0
RETIRE_SEC = 30.0
"""A cancelled task is over within seconds; after this it counts as live."""
RETIRE_POLL_SEC = 0.3
_LOST_LOOKS = 2
"""A task on its way from the queue to a worker may be in neither for one look."""


class TaskRejected(RuntimeError):
    """The server refused the task for what it is (HTTP 4xx); the message is the server's text."""


class TaskLife:
    """Drives one task; every change of its state is on disk before anything follows from it."""

    def __init__(
        self,
        client: GatewayClient,
        checkpoints: CheckpointFile,
        reporter: Reporter,
        *,
        subject: str,
        stop: threading.Event,
        executor: Executor | None,
    ) -> None:
        self._client = client
        self._checkpoints = checkpoints
        self._reporter = reporter
        self._subject = subject
        self._stop = stop
        self._executor = executor

    def submit(self, body: Mapping[str, Any], checkpoint: TaskCheckpoint) -> TaskCheckpoint:
        """Store the intent, then submit until it is certain that the task exists, always under the same id.

        Raises TaskRejected for a refusal that a repetition cannot change, GatewayError when it stays unclear
        whether the task arrived (the intent stays on disk, so that a restart can find out).
        """
        checkpoint = self._checkpoints.write(checkpoint.model_copy(update={"submitted_unix": time.time()}))
        for _ in range(SUBMIT_TRIES - 1):
            try:
                return self._submit_once(body, checkpoint)
            except GatewayError as error:
                if self._stop.is_set():
                    raise
                self._say(f"it is not certain that the task has arrived ({error}); asking the server")
            self._stop.wait(SUBMIT_PAUSE_SEC)
        return self._submit_once(body, checkpoint)

    def watch(self, checkpoint: TaskCheckpoint, timeout_sec: float) -> Settlement:
        """Wait until the task has settled, at most `timeout_sec` seconds."""
        watch = _Watch(deadline=time.monotonic() + timeout_sec)
        while True:
            if self._stop.is_set():
                return Settlement(SettledBy.DETACHED, watch.record)
            if time.monotonic() > watch.deadline:
                return Settlement(SettledBy.TIMEOUT, watch.record, f"not settled within {timeout_sec:.0f} s")
            settled = self._look(checkpoint, watch) or self._look_at_executor(checkpoint, watch)
            if settled is not None:
                return settled
            self._stop.wait(watch.next_pause())

    def executor_trouble(self, task_id: str) -> ExecutorTrouble | None:
        """Return what was wrong with the container of a settled task."""
        return self._executor.at_end(task_id) if self._executor is not None else None

    def final_cost(self, task_id: str) -> dict[str, Any] | None:
        """Return the event that carries the true total, if the server still has it."""
        try:
            events = self._client.events(task_id, wait_sec=1)
        except GatewayError:
            return None
        for event in reversed(events):
            if event.get("type") == "task_cost_finalized":
                data = event.get("data")
                return data if isinstance(data, dict) else event
        return None

    def _submit_once(self, body: Mapping[str, Any], checkpoint: TaskCheckpoint) -> TaskCheckpoint:
        # After a lost answer (or a restart) the task may be there already; only the server knows.
        known = self._client.task(checkpoint.task_id)
        status = known.status if known is not None else self._create(body, checkpoint.task_id)
        return self._checkpoints.write(checkpoint.model_copy(update={"status": status or "scheduled"}))

    def _create(self, body: Mapping[str, Any], task_id: str) -> str:
        """Return the new task's status; a failure of the server, or of a proxy, does not say that there is none."""
        try:
            return self._client.create_task(body).status
        except GatewayRefused as refused:
            if refused.status >= 500:
                raise
            known = self._client.task(task_id) if refused.status == 409 else None
            if known is None:
                raise TaskRejected(refused.text) from refused
            return known.status

    def _look(self, checkpoint: TaskCheckpoint, watch: "_Watch") -> Settlement | None:
        try:
            record = record_of(self._client, checkpoint)
        except GatewayError as error:
            return watch.outage(str(error))
        if record is None:
            return watch.outage(f"the server does not know the task {checkpoint.task_id} any more")
        watch.answered(record)
        self._reporter.update(_seen(self._subject, record))
        self._note_change(checkpoint, record, watch)
        if record.final:
            return Settlement(SettledBy.FINAL, record)
        return self._waiting_trouble(checkpoint, record, watch)

    def _note_change(self, checkpoint: TaskCheckpoint, record: TaskRecord, watch: "_Watch") -> None:
        seen = (record.status, record.artifact_status)
        if seen == watch.seen:
            return
        watch.seen = seen
        watch.look_soon()
        self._checkpoints.write(
            checkpoint.model_copy(
                update={"status": record.status, "task_result": record.excerpt() if record.final else None}
            )
        )
        self._say(f"task {checkpoint.task_id} is {record.status} ({record.artifact_status or 'no artifacts yet'})")

    def _waiting_trouble(self, checkpoint: TaskCheckpoint, record: TaskRecord, watch: "_Watch") -> Settlement | None:
        if record.status != "scheduled":
            watch.missing = 0
            return None
        if record.reason_code == "budget_exhausted" or record.resource_limit:
            cancel_quietly(self._client, _live_id(checkpoint.task_id, record))
            return Settlement(
                SettledBy.BUDGET_PAUSED, record, "the server's TOTAL_BUDGET is spent; the task was cancelled"
            )
        if not watch.lost_check_due():
            return None
        try:
            watch.missing = 0 if self._client.queue().holds(_live_id(checkpoint.task_id, record)) else watch.missing + 1
        except GatewayError:
            return None
        if watch.missing < 2:
            return None
        return Settlement(SettledBy.LOST, record, "scheduled, but in no queue: the server lost it in a crash")

    def _look_at_executor(self, checkpoint: TaskCheckpoint, watch: "_Watch") -> Settlement | None:
        # An agent that is done needs no container; what became of it is looked at when the task has settled.
        done = watch.record is not None and watch.record.artifact_status == "finalizing"
        if done or not watch.executor_check_due():
            return None
        trouble = self._executor.look(checkpoint.task_id) if self._executor is not None else None
        if trouble is None:
            return None
        cancel_quietly(self._client, _live_id(checkpoint.task_id, watch.record))
        return Settlement(trouble.by, watch.record, trouble.detail, trouble.facts)

    def _say(self, text: str) -> None:
        self._reporter.event(text, self._subject)


def _seen(subject: str, record: TaskRecord) -> InstanceChange:
    return InstanceChange(
        subject,
        status="finalizing" if record.artifact_status == "finalizing" else record.status,
        rounds=record.total_rounds,
        cost_usd=(running_cost(record) or {}).get("usd"),
    )


def record_of(client: GatewayClient, checkpoint: TaskCheckpoint) -> TaskRecord | None:
    """Return what the server says of a task, or said at its end before it forgot it; raises GatewayError."""
    return client.task(checkpoint.task_id) or checkpoint.final_record()


def cancel_quietly(client: GatewayClient, task_id: str) -> bool:
    """Cancel a task as far as the server can be reached; say whether it was active."""
    try:
        return client.cancel(task_id)
    except GatewayError:
        return False


def retire(client: GatewayClient, task_id: str) -> TaskRecord | None:
    """Make sure that a task is over before another one takes its place; returns its last record.

    Raises GatewayError when that cannot be known. A task that a crash of the server lost is over too: it is in no
    queue, though its record says `scheduled` for ever.
    """
    give_up, in_no_queue = time.monotonic() + RETIRE_SEC, 0
    while True:
        record = client.task(task_id)
        if record is None or record.final or in_no_queue >= _LOST_LOOKS:
            return record
        if time.monotonic() > give_up:
            raise GatewayError(f"task {task_id} is still {record.status} after it was cancelled")
        live_id = _live_id(task_id, record)
        gone = not client.cancel(live_id) and not client.queue().holds(live_id)
        in_no_queue = in_no_queue + 1 if gone else 0
        time.sleep(RETIRE_POLL_SEC)


def _live_id(task_id: str, record: TaskRecord | None) -> str:
    """Return the id under which a task lives: the server may have retried it under one of its own."""
    return (record.task_id if record is not None else "") or task_id


@dataclass
class _Watch:
    """The clocks of one watch."""

    deadline: float
    record: TaskRecord | None = None
    seen: tuple[str, str | None] | None = None
    missing: int = 0
    _pause: float = FIRST_POLL_SEC
    _silent_since: float | None = None
    _lost_check: float = 0.0
    _executor_check: float = 0.0

    def answered(self, record: TaskRecord) -> None:
        self.record = record
        self._silent_since = None

    def outage(self, detail: str) -> Settlement | None:
        now = time.monotonic()
        self._silent_since = self._silent_since or now
        if now - self._silent_since < OUTAGE_SEC:
            return None
        return Settlement(
            SettledBy.UNREACHABLE,
            self.record,
            f"no answer for {OUTAGE_SEC:.0f} s ({detail}); a server that found its port busy moves to another one",
        )

    def look_soon(self) -> None:
        """Begin with short pauses again: after one change, such as the agent's last word, the next is often near."""
        self._pause = FIRST_POLL_SEC

    def next_pause(self) -> float:
        pause, self._pause = self._pause, min(self._pause * POLL_GROWTH, SLOWEST_POLL_SEC)
        return pause

    def lost_check_due(self) -> bool:
        now = time.monotonic()
        due = now - self._lost_check > LOST_CHECK_SEC
        if due:
            self._lost_check = now
        return due

    def executor_check_due(self) -> bool:
        now = time.monotonic()
        due = now - self._executor_check > WATCH_SEC
        if due:
            self._executor_check = now
        return due
