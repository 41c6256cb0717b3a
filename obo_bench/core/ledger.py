"""The result index: one JSON line per event of an instance, appended once and never rewritten (design I6)."""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from obo_bench.core.files import line_bytes
from obo_bench.core.redact import Redactor

LEDGER_NAME = "result_index.jsonl"
SCHEMA = "ouroboros.benchmark.task_result.v1"
Status = Literal["completed", "failed", "skipped", "blocked", "not_attempted"]


class Row(BaseModel):
    """One line of `result_index.jsonl`; complete in itself, so that the last row of an instance tells its state."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    schema_: str = Field(SCHEMA, alias="schema")
    """Format name."""
    ts_unix: float = 0.0
    """Wall-clock seconds at which the row was written."""
    benchmark: str
    """The benchmark's name."""
    instance_id: str
    """The instance it is about."""
    status: Status
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
    """Number of the line in the run-root ledger, from 1."""
    prev_sha256: str = ""
    """SHA-256 of the preceding line of the run-root ledger, newline included; empty for the first."""
    submission_sha256: str = ""
    """SHA-256 of the submission archive."""
    durations: dict[str, float] = Field(default_factory=dict)
    """Seconds on a monotonic clock, by phase."""
    cost: dict[str, Any] = Field(default_factory=dict)
    """What the server said it cost."""


class Ledger:
    """Appends rows at the run root and, verbatim, in the instance's directory."""

    def __init__(self, run_root: Path, invocation: str, redactor: Redactor) -> None:
        self._root = run_root
        self._invocation = invocation
        self._redactor = redactor

    @property
    def path(self) -> Path:
        """The run root's own ledger."""
        return self._root / LEDGER_NAME

    def append(self, row: Row) -> Row:
        """Write one row durably in both places and return it as written; raises OSError when the disk refuses."""
        with _exclusive(self._root / f".{LEDGER_NAME}.lock"):
            tail = _last_line(self.path)
            row = row.model_copy(
                update={
                    "ts_unix": time.time(),
                    "invocation": self._invocation,
                    "seq": _seq_after(tail),
                    "prev_sha256": hashlib.sha256(tail).hexdigest() if tail else "",
                }
            )
            line = line_bytes(self._redactor.document(row.model_dump(by_alias=True)))
            _append(self.path, line)
            instance = self._root / row.instance_id
            if instance.is_dir():
                _append(instance / LEDGER_NAME, line)
        return row


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the readable rows of a ledger in order; torn and foreign lines are skipped."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        for line in stream:
            try:
                yield Row.model_validate_json(line)
            except ValueError:
                continue


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        # A torn tail of a killed writer must not swallow this row.
        size = os.fstat(descriptor).st_size
        fresh = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
        os.write(descriptor, line if fresh else b"\n" + line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _last_line(path: Path) -> bytes:
    """Return the last complete line, newline included, or nothing."""
    if not path.exists():
        return b""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        block = 65536
        while True:
            start = max(0, size - block)
            stream.seek(start)
            lines = stream.read(size - start).splitlines(keepends=True)
            complete = [line for line in lines[0 if start == 0 else 1 :] if line.endswith(b"\n")]
            if complete or start == 0:
                return complete[-1] if complete else b""
            block *= 4


def _seq_after(line: bytes) -> int:
    try:
        return int(json.loads(line)["seq"]) + 1
    except (ValueError, KeyError, TypeError):
        return 1
