"""The result index: one JSON line per event of an instance, appended once and never rewritten (design I6).

The run root's ledger is the authority. The instance's own ledger is a copy that lacks at most the last row of the run
root's, and only after a writer was killed or a disk was full: whoever writes next, or takes the run over, puts that
row in before anything else.
"""

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obo_bench.core.files import PRIVATE_FILE, line_bytes, sync_directory
from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.ledger_reader import Damage, last_row, latest_rows, read_rows
from obo_bench.core.ledger_row import LARGEST_LINE, LEDGER_NAME, Row, Status
from obo_bench.core.redact import Redactor
from obo_bench.core.signals import untorn

__all__ = [
    "LEDGER_NAME",
    "Damage",
    "Ledger",
    "LedgerUnwritable",
    "Row",
    "Status",
    "append_line",
    "latest_rows",
    "read_rows",
    "row_line",
]

_LOCK_SEC = 60.0
"""A writer holds the lock for milliseconds; one that was stopped in the middle must not stop a run without a word."""
_LOCK_PAUSE_SEC = 0.002
_LONGEST_TEXT = 4000
_MOST_ENTRIES = 50
_LONGEST_NAME = 255
"""Bytes of the longest name that a file system takes for a directory."""


class LedgerUnwritable(OSError):
    """A row could not be made durable: disk full, quota, read-only, gone. Nothing that was there before has changed.

    The row may still be on disk (when only the last step failed), so it may not be appended under another attempt.
    A run must submit nothing more: what it cannot record, it cannot account for.
    """

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(cause.errno, f"the ledger cannot be written: {cause.strerror or cause}", str(path))


class Ledger:
    """Appends rows at the run root and, verbatim, in the instance's directory, where there is one, and in `also`."""

    def __init__(self, run_root: Path, invocation: str, redactor: Redactor, *, also: Path | None = None) -> None:
        self._root = run_root
        self._invocation = invocation
        self._redactor = redactor
        self._also = also

    @property
    def path(self) -> Path:
        """The run root's own ledger."""
        return self._root / LEDGER_NAME

    @untorn
    def append(self, row: Row) -> Row:
        """Write one row durably in both places and return it as written; raises LedgerUnwritable.

        A row that is too large for a line loses what is long in its error, details and cost.
        """
        with self._exclusive():
            before = last_row(self.path)
            self._complete_copy(before)
            row = row.model_copy(update=self._position(before))
            line = row_line(row, self._redactor)
            append_line(self.path, line)
            self._copy(row.instance_id, line)
            if self._also is not None:
                append_line(self._also, line)
        return row

    @untorn
    def take_over(self) -> list[str]:
        """Complete the copy that a killed writer left behind, and return what is wrong with the ledger, in words.

        To be called before the rows of a run are relied upon. Raises LedgerUnwritable.
        """
        if not self.path.exists():
            return []
        with self._exclusive():
            self._complete_copy(last_row(self.path))
            return ledger_notices(self._root)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the ledger's lock; what the system refuses in the meantime becomes LedgerUnwritable."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._root / f".{LEDGER_NAME}.lock", flags, PRIVATE_FILE)
            try:
                _lock(descriptor)
                yield
            finally:
                os.close(descriptor)
        except LedgerUnwritable:
            raise
        except OSError as error:
            # The name is a descriptor's number where a file was wrapped after it had been opened.
            named = error.filename if isinstance(error.filename, str) else self.path
            raise LedgerUnwritable(Path(named), error) from error

    def _position(self, before: tuple[bytes, Row] | None) -> dict[str, Any]:
        line, row = before if before is not None else (b"", None)
        return {
            "ts_unix": time.time(),
            "invocation": self._invocation,
            "seq": row.seq + 1 if row is not None else 1,
            "prev_sha256": hashlib.sha256(line).hexdigest() if line else "",
        }

    def _complete_copy(self, last: tuple[bytes, Row] | None) -> None:
        if last is None:
            return
        line, row = last
        copy = self._copy_path(row.instance_id)
        if copy is not None and ((found := last_row(copy)) is None or found[0] != line):
            append_line(copy, line)

    def _copy(self, instance_id: str, line: bytes) -> None:
        copy = self._copy_path(instance_id)
        if copy is not None:
            append_line(copy, line)

    def _copy_path(self, instance_id: str) -> Path | None:
        """Return the instance's ledger; None without a directory, and for an id that leads out of the run root."""
        if instance_id in ("", ".", "..") or "/" in instance_id or "\0" in instance_id:
            return None
        if len(instance_id.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
            return None
        directory = self._root / instance_id
        return directory / LEDGER_NAME if directory.is_dir() else None


def _lock(descriptor: int) -> None:
    give_up = time.monotonic() + _LOCK_SEC
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise TimeoutError(errno.ETIMEDOUT, f"another process has held its lock for {_LOCK_SEC:g} s") from None
            time.sleep(_LOCK_PAUSE_SEC)
        else:
            return


def row_line(row: Row, redactor: Redactor) -> bytes:
    """Return the line of a row, without secrets; what is long in error, details and cost is cut where it must be.

    Raises ValueError for a row that fits in no line even so.
    """
    document = redactor.document(row.document())
    line = line_bytes(document)
    if len(line) <= LARGEST_LINE:
        return line
    kept = {name: _short(document[name]) for name in ("error", "details", "cost")}
    line = line_bytes(document | kept)
    if len(line) > LARGEST_LINE:
        raise ValueError(f"a row of {len(line)} bytes for instance {row.instance_id[:200]!r} fits in no line")
    return line


def append_line(path: Path, line: bytes) -> None:
    """Append a line durably, whole: one write and an fsync. Raises LedgerUnwritable."""
    try:
        _append(path, line)
    except OSError as error:
        raise LedgerUnwritable(path, error) from error


def _append(path: Path, line: bytes) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        size = os.fstat(descriptor).st_size
        # A torn tail of a killed writer must not swallow this row.
        fresh = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
        _write_all(descriptor, line if fresh else b"\n" + line)
        os.fsync(descriptor)
        if size == 0:
            sync_directory(path.parent)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write in one call; only a disk that is filling up takes less, and then says why."""
    while data:
        written = os.write(descriptor, data)
        if written == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        data = data[written:]


def _short(value: Any) -> Any:
    """Return the plain part of a value: short text, numbers, and one level of named ones."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]} ... ({len(value)} characters)"
    if isinstance(value, dict):
        plain = {name: item for name, item in value.items() if not isinstance(item, dict | list) and len(name) < 200}
        return {name: _short(item) for name, item in list(plain.items())[:_MOST_ENTRIES]} | {"shortened": True}
    return value
