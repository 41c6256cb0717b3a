"""Read ledgers as streams: rows, the latest row of each instance, and what is wrong with a ledger.

A line is a row when it reads as one; anything else (torn by a kill or a full disk, zeros after a power loss, written
by something else, longer than any row) is skipped, and told to a caller who asks.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from obo_bench.core.documents import parse_document
from obo_bench.core.ledger_row import LARGEST_LINE, Row

_LISTED = 20
_BLOCK = 1 << 20
_NO_ROW = b"\0"
"""Stands for a line that is longer than any row: no JSON has this byte."""
_OWN_LINE = re.compile(
    rb'\{"schema": "ouroboros\.benchmark\.task_result\.v1", "ts_unix": [0-9.e+]+, "benchmark": "[^"\\]*", '
    rb'"instance_id": "([^"\\]*)", .*\}\n',
    re.DOTALL,
)
"""A line as our writer begins and ends it; whether it is whole is seen when it is parsed."""


@dataclass
class Damage:
    """The lines of a ledger that are no rows; a reader counts them here."""

    count: int = 0
    """How many."""
    numbers: list[int] = field(default_factory=list)
    """The first of their line numbers, from 1."""

    def add(self, number: int) -> None:
        """Count one line."""
        self.count += 1
        if len(self.numbers) < _LISTED:
            self.numbers.append(number)

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.numbers)) + (", ..." if self.count > len(self.numbers) else "")
        return f"{self.count} torn or foreign line(s) skipped (line {shown})"


def read_rows(path: Path, damage: Damage | None = None) -> Iterator[Row]:
    """Yield the rows of a ledger in order, in constant memory; a ledger that is not there has none.

    The other lines are counted in `damage`. Raises OSError when the file cannot be read.
    """
    for _, _, row in numbered_rows(path, damage):
        yield row


def latest_rows(path: Path) -> dict[str, Row]:
    """Return the last row of each instance, in the order in which the instances first came up.

    Lines of our own writer are parsed only when they are the last of their instance, so that a million rows take
    seconds. Raises OSError when the file cannot be read.
    """
    last: dict[str, bytes] = {}
    with _opened(path) as stream:
        for line in _lines(stream):
            own = _OWN_LINE.fullmatch(line)
            row = None if own else _row(line)
            if own:
                last[own[1].decode("utf-8", "replace")] = line
            elif row is not None:
                last[row.instance_id] = line
    found = {name: row for name, line in last.items() if (row := _row(line)) is not None and row.instance_id == name}
    if len(found) == len(last):
        return found
    # The end of an instance is damaged in its middle: every line has to be looked at.
    return {row.instance_id: row for row in read_rows(path)}


def numbered_rows(path: Path, damage: Damage | None = None) -> Iterator[tuple[int, bytes, Row]]:
    """Yield line number, line (newline included, also where a torn tail lacks it) and row."""
    with _opened(path) as stream:
        for number, line in enumerate(_lines(stream), 1):
            row = _row(line)
            if row is not None:
                yield number, _ended(line), row
            elif damage is not None:
                damage.add(number)


def last_row(path: Path) -> tuple[bytes, Row] | None:
    """Return the last row of a ledger with its line (newline included), reading backwards; None when it has none."""
    with _opened(path) as stream:
        for line in _lines_backwards(stream):
            row = _row(line)
            if row is not None:
                return _ended(line), row
    return None


def _opened(path: Path) -> BinaryIO:
    try:
        # A FIFO in the ledger's place must not hold the reader for ever.
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        return Path(os.devnull).open("rb")


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LARGEST_LINE):
        if len(line) == LARGEST_LINE and not line.endswith(b"\n"):
            while (more := stream.readline(LARGEST_LINE)) and not more.endswith(b"\n"):
                pass
            line = _NO_ROW
        yield line


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    position, rest = stream.seek(0, os.SEEK_END), b""
    while position:
        step = min(_BLOCK, position)
        position -= step
        stream.seek(position)
        first, *lines = (stream.read(step) + rest).split(b"\n")
        yield from (line if len(line) < LARGEST_LINE else _NO_ROW for line in reversed(lines))
        rest = first if len(first) < LARGEST_LINE else _NO_ROW
    yield rest


def _row(line: bytes) -> Row | None:
    try:
        return parse_document(Row, line)
    except (ValueError, RecursionError):
        return None


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"
