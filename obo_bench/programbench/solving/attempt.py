"""One attempt at an instance, and the rows that tell how it ended."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from obo_bench.core.ledger import Row, Status
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.rows import append_row, image_facts

INTERRUPTED = "interrupted"
"""The run ended first; a task that was made goes on at the server, and a resume asks for it."""
_LEAVE_SEC = 5.0
"""A worker that is just writing its row needs milliseconds."""


class AttemptAbandoned(RuntimeError):
    """The run has ended without waiting for this attempt, and has written its row."""


@dataclass
class Attempt:
    """One attempt under way."""

    context: RunContext
    """The run."""
    instance: Instance
    """What is solved."""
    number: int
    """Counted from 1."""
    durations: dict[str, float] = field(default_factory=dict)
    """Seconds by step."""
    task_was_made: bool = False
    """From the intent on: whoever comes next must ask the server about it."""
    task_may_live: bool = False
    """From the intent until the task has settled: only then it loses its container."""
    resumed_task: dict[str, float] = field(default_factory=dict)
    """When the task of an earlier invocation was submitted, and when it ended, in wall-clock seconds as far as known:
    `durations` cannot tell how long it lasted."""
    seen_healthy: bool = False
    """An earlier invocation saw the cleanroom in order when the task had settled, and removed it."""
    ended: Row | None = None
    """Its row, once that has been written."""
    _ending: threading.Lock = field(default_factory=threading.Lock)

    @property
    def id(self) -> str:
        """The instance's id."""
        return self.instance.instance_id

    def task_made(self) -> None:
        """Take note that its intent is about to be stored, or that it goes on with an earlier task."""
        self.task_was_made = self.task_may_live = True

    def row(self, status: Status, reason: str, **fields: Any) -> Row:
        """Write a row with what the attempt knows; `fields` as in `append_row`."""
        details = self._facts() | (fields.pop("details", None) or {})
        return self.end(
            lambda: append_row(
                self.context,
                self.id,
                status,
                reason,
                attempt=self.number,
                durations=self.durations,
                details=details,
                **fields,
            )
        )

    def end(self, write: Callable[[], Row]) -> Row:
        """Write the attempt's one row by `write`; raises AttemptAbandoned when somebody else has written it."""
        with self._ending:
            if self.ended is not None:
                raise AttemptAbandoned(f"{self.id} ended without this worker")
            self.ended = write()
            return self.ended

    def failed(self, reason: str, error: str, *, infrastructure: bool) -> Row:
        """Write that it failed; `infrastructure` means that the agent is not to blame."""
        return self.row("failed", str(reason), error=error, details={"infrastructure": infrastructure})

    def not_attempted(self, reason: str = "") -> Row:
        """Write that the end of the run came first."""
        return self.row("not_attempted", reason or self.context.halted_by or INTERRUPTED)

    def leave(self, why: str) -> Row | None:
        """Return the attempt's row, written here for a worker that did not come to it; None while that is writing."""
        if not self._ending.acquire(timeout=_LEAVE_SEC):
            return None
        try:
            self.ended = self.ended or self._left(why)
            return self.ended
        finally:
            self._ending.release()

    def _left(self, why: str) -> Row:
        context = self.context
        if not self.task_was_made:
            reason = context.halted_by or INTERRUPTED
            return append_row(context, self.id, "not_attempted", reason, attempt=self.number)
        return append_row(
            context,
            self.id,
            "failed",
            INTERRUPTED,
            attempt=self.number,
            error=why,
            durations=dict(self.durations),
            details={**self._facts(), "infrastructure": True},
        )

    def _facts(self) -> dict[str, Any]:
        """Name the image, the times of a resumed task, and the task: its cost is unknown as long as nobody knows it."""
        task = {"task_id": self.context.task_id(self.id, self.number)} if self.task_was_made else {}
        resumed = {"resumed_task": self.resumed_task} if self.resumed_task else {}
        return image_facts(self.context.images.get(self.id, {})) | task | resumed
