"""The task checkpoint: which task an instance has at the server, durable before the server hears of it."""

import time
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.gateway.wire import TaskRecord

CHECKPOINT_NAME = "ouroboros_task_checkpoint.json"
INTENT = "intent"
"""Status before the submission is known to have arrived."""


class TaskCheckpoint(WireModel):
    """Wire format of `ouroboros_task_checkpoint.json`."""

    schema_: Literal["ouroboros.benchmark.programbench.task_checkpoint.v1"] | LaterWord = Field(
        "ouroboros.benchmark.programbench.task_checkpoint.v1", alias="schema"
    )
    """Format name."""
    task_id: str
    """Our id of the task."""
    ts_unix: float = 0.0
    """Wall-clock seconds of the last change."""
    status: str = INTENT
    """`intent`, or the server's status as last seen."""
    task_result: dict[str, Any] | None = None
    """The server's record, once final."""
    attempt: int = 1
    """The attempt that the task belongs to."""
    container: str = ""
    """Name of the cleanroom that the task works in."""
    submitted_unix: float | None = None
    """Wall-clock seconds at which the task was about to be given to the server; null in older checkpoints."""
    cancel_asked: bool = False
    """An operator has asked to end the task: whoever comes next finishes that, and makes no other task for it."""

    def final_record(self) -> TaskRecord | None:
        """Return the server's record that was kept when the task had ended; None before."""
        record = TaskRecord.model_validate(self.task_result) if self.task_result is not None else None
        return record if record is not None and record.final else None


class CheckpointFile:
    """Reads and atomically replaces the checkpoint of one instance."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> TaskCheckpoint | None:
        """Return the checkpoint, or None when there is none.

        Raises UnreadableDocument for one that is there and cannot be read: which task it names, and whether that is
        live, is then unknown.
        """
        try:
            return read_document(TaskCheckpoint, self.path)
        except UnreadableDocument:
            if self.path.is_symlink() or self.path.exists():
                raise
            return None

    def write(self, checkpoint: TaskCheckpoint) -> TaskCheckpoint:
        """Store the checkpoint durably and return it with its time."""
        stored = checkpoint.model_copy(update={"ts_unix": time.time()})
        write_json(self.path, process_redactor().document(stored.document()))
        return stored
