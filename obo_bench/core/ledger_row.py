"""Wire format of `result_index.jsonl`: one row is one JSON line."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel

LEDGER_NAME = "result_index.jsonl"
LARGEST_LINE = 1 << 20
"""Bytes of the longest line that is written or taken for a row, newline included."""
Status = Literal["completed", "failed", "skipped", "blocked", "not_attempted"]


class Row(WireModel):
    """One line of `result_index.jsonl`; complete in itself, so that the last row of an instance tells its state."""

    schema_: Literal["ouroboros.benchmark.task_result.v1"] | LaterWord = Field(
        "ouroboros.benchmark.task_result.v1", alias="schema"
    )
    """Format name."""
    ts_unix: float = 0.0
    """Wall-clock seconds at which the row was written."""
    benchmark: str
    """The benchmark's name."""
    instance_id: str
    """The instance it is about."""
    status: Status | LaterWord
    """What became of the instance."""
    reason_code: str
    """Why, from the vocabulary of row reasons or the server's own code verbatim."""
    prediction_written: bool = False
    """Whether a submission archive exists."""
    official_eval_status: str = "not_run"
    """What the official evaluation said: not_run, pass, fail or ungraded."""
    output_paths: dict[str, str] = Field(default_factory=dict)
    """Files of the instance, relative to the run root."""
    error: str = ""
    """One human line, empty when nothing went wrong."""
    details: dict[str, Any] = Field(default_factory=dict)
    """Evidence."""
    attempt: int = 1
    """Number of the attempt, from 1."""
    invocation: str = ""
    """The invocation that wrote the row."""
    seq: int = 0
    """Number of the row in the run-root ledger, from 1."""
    prev_sha256: str = ""
    """SHA-256 of the line of the preceding row of the run-root ledger, newline included; empty for the first. Torn and
    foreign lines are no rows."""
    submission_sha256: str = ""
    """SHA-256 of the submission archive."""
    durations: dict[str, float] = Field(default_factory=dict)
    """Seconds on a monotonic clock, by phase, of the invocation that wrote the row. How long a task lasted that an
    earlier one had submitted is told by `details.resumed_task` (submitted_unix, ended_unix: wall clock)."""
    cost: dict[str, Any] = Field(default_factory=dict)
    """What the server said it cost."""
