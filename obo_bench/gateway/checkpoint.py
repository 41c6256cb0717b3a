"""The task checkpoint: which task an instance has at the server, durable before the server hears of it."""

import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from obo_bench.core.files import read_json_object, write_json
from obo_bench.core.redact import process_redactor

CHECKPOINT_NAME = "ouroboros_task_checkpoint.json"
INTENT = "intent"
"""Status before the submission is known to have arrived."""


class TaskCheckpoint(BaseModel):
    """Wire format of `ouroboros_task_checkpoint.json`."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    schema_: str = Field("ouroboros.benchmark.programbench.task_checkpoint.v1", alias="schema")
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


class CheckpointFile:
    """Reads and atomically replaces the checkpoint of one instance."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> TaskCheckpoint | None:
        """Return the checkpoint, or None when there is none that can be read."""
        value = read_json_object(self.path)
        try:
            return TaskCheckpoint.model_validate(value) if value is not None else None
        except ValidationError:
            return None

    def write(self, checkpoint: TaskCheckpoint) -> TaskCheckpoint:
        """Store the checkpoint durably and return it with its time."""
        stored = checkpoint.model_copy(update={"ts_unix": time.time()})
        write_json(self.path, process_redactor().document(stored.model_dump(by_alias=True)))
        return stored
