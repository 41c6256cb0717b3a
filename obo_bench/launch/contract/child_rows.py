"""The rows that a launcher leaves in the file of OBO_BENCH_LEDGER, on their way into the run's own ledger."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from obo_bench.core.documents import parse_document
from obo_bench.core.files import line_bytes
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.why import why
from obo_bench.core.wire_format import LaterWord
from obo_bench.launch.contract.line_tail import TOO_LONG, LineTail

OURS = ("schema", "ts_unix", "benchmark", "invocation", "seq", "prev_sha256")
"""Fields of a row that are filled in here, whatever a launcher wrote there."""
LONGEST_ID = 500
"""Characters of an instance id; a longer one is a mistake."""
LONGEST_REASON = 200
"""Characters of the word for why."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 200


def reason_problem(reason: str) -> str:
    """Return what is wrong with a launcher's word for why; empty where it is one word, as whoever counts them needs."""
    if reason.isprintable() and " " not in reason and 0 < len(reason) <= LONGEST_REASON:
        return ""
    return f"is not one word of 1 to {LONGEST_REASON} characters"


def sha256_problem(digest: str) -> str:
    """Return what is wrong with a SHA-256; empty where it is one."""
    return "" if _SHA256.fullmatch(digest) else "is no SHA-256: it has 64 hexadecimal digits, in lower case"


def row_problem(row: Row) -> str:
    """Return what is wrong with the words of a row that can be kept all the same; empty where nothing is."""
    if problem := reason_problem(row.reason_code):
        return f"reason_code: {row.reason_code[:_SHOWN]!r} {problem}"
    if row.submission_sha256 and (problem := sha256_problem(row.submission_sha256)):
        return f"submission_sha256: {row.submission_sha256[:_SHOWN]!r} {problem}"
    return ""


class InvalidRow(ValueError):
    """What was handed in is no row of this run; the text says why."""


def row_of(document: object, benchmark: str, requested: Collection[str] | None) -> Row:
    """Return the row that a launcher's JSON object means; raises InvalidRow, also for an id that nobody requested."""
    if not isinstance(document, Mapping):
        raise InvalidRow("it is no JSON object")
    kept = {str(name): value for name, value in document.items() if name not in OURS}
    try:
        row = parse_document(Row, line_bytes({**kept, "benchmark": benchmark}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidRow(f"{'.'.join(map(str, first['loc']))[:_SHOWN]}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRow(f"it is no JSON that can be kept: {why(error)}") from error
    if isinstance(row.status, LaterWord):
        raise InvalidRow(f"status: {row.status[:_SHOWN]!r} is none of completed, failed, skipped, blocked, "
                         "not_attempted")  # fmt: skip
    if not row.instance_id or len(row.instance_id) > LONGEST_ID or not row.reason_code:
        raise InvalidRow("instance_id and reason_code may not be empty, and an id has at most 500 characters")
    if requested is not None and row.instance_id not in requested:
        raise InvalidRow(f"instance_id: {row.instance_id[:_SHOWN]!r} was not requested of this run")
    return row


class ChildRows:
    """Takes the rows over, line by line as they are completed. A bad line is told, counted and left where it is."""

    def __init__(
        self,
        path: Path,
        ledger: Ledger,
        benchmark: str,
        requested: Collection[str] | None,
        problem: Callable[[str], None],
    ) -> None:
        self.taken = 0
        """Rows that were appended to the run's ledger."""
        self.bad = 0
        """Lines that are no rows of this run."""
        self._path = path
        self._tail = LineTail(path)
        self._ledger = ledger
        self._benchmark = benchmark
        self._requested = frozenset(requested) if requested is not None else None
        self._problem = problem
        self._number = 0
        self._told_trouble = False

    def take(self, *, at_end: bool = False) -> None:
        """Append some of what is complete by now, `at_end` all that there is. Raises LedgerUnwritable."""
        while lines := self._tail.block():
            for line in lines:
                self._take(line)
            if not at_end:
                break
        for line in self._tail.rest() if at_end else []:
            self._take(line)
        if self._tail.trouble and not self._told_trouble:
            self._told_trouble = True
            self._problem(f"the launcher's ledger {self._path.name} {self._tail.trouble}")

    def _take(self, line: bytes) -> None:
        self._number += 1
        if not line.strip():
            return
        try:
            row = row_of(_parsed(line), self._benchmark, self._requested)
        except InvalidRow as invalid:
            self.bad += 1
            self._problem(f"line {self._number} of the launcher's ledger is no row of this run: {invalid}")
            return
        if problem := row_problem(row):
            # Refusing it would lose a result that may have cost hours.
            self._problem(f"line {self._number} of the launcher's ledger: {problem}; the row was taken as it is")
        self._ledger.append(row)
        self.taken += 1


def _parsed(line: bytes) -> Any:
    if line == TOO_LONG:
        raise InvalidRow("it is longer than any row")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidRow(f"it is no JSON: {why(error)}") from error
