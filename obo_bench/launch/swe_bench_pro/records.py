"""Reads a file of JSON objects, one a line or all in one list: both forms of predictions and raw samples."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_whole
from obo_bench.core.why import why

LONGEST_ID = 500
"""Characters of the longest instance id that is taken; the benchmark's have about 120."""
_LONGEST_WORDS = 300


class UnusableRecords(ValueError):
    """A file that is not what it should be; the text says where and why."""


@dataclass(frozen=True)
class Record:
    """One object of the file."""

    place: str
    """Where it stands, for people."""
    fields: dict[str, Any]
    """The object."""

    def instance_id(self) -> str:
        """Return its instance id; raises UnusableRecords where it has none."""
        value = self.fields.get("instance_id")
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID:
            raise UnusableRecords(f"{self.place}: instance_id is not a text of 1 to {LONGEST_ID} characters")
        return value


def read_records(path: Path) -> tuple[str, Iterator[Record]]:
    """Return the SHA-256 of a file's bytes, and its objects; lines are parsed as they are asked for.

    Raises UnusableRecords, also while the objects are taken.
    """
    try:
        data = read_whole(path)
        data.decode("utf-8")
    except OSError as error:
        raise UnusableRecords(f"it cannot be read: {why(error)}") from error
    except UnicodeDecodeError as error:
        raise UnusableRecords(why(error)) from error
    text = data.removeprefix(b"\xef\xbb\xbf")
    return hashlib.sha256(data).hexdigest(), _listed(text) if text.lstrip()[:1] == b"[" else _lines(text)


def _listed(text: bytes) -> Iterator[Record]:
    for number, value in enumerate(_parsed("the list", text), 1):
        yield _record(f"entry {number}", value)


def _lines(text: bytes) -> Iterator[Record]:
    # Only at line feeds: a JSON text may hold the other characters that Python takes for line ends.
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            yield _record(f"line {number}", _parsed(f"line {number}", line))


def _parsed(place: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableRecords(f"{place} is not JSON: {why(error)[:_LONGEST_WORDS]}") from error


def _record(place: str, value: object) -> Record:
    if not isinstance(value, dict):
        raise UnusableRecords(f"{place} is not a JSON object")
    return Record(place, value)
