"""The tasks that a launcher's own command names, read from the files that it names.

The operator named these files, so one that cannot be read ends the invocation before anything is started; the ids are
the denominator of every figure, so no line is passed over.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from obo_bench.core.files import open_regular
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why
from obo_bench.gateway.foreign_json import parse
from obo_bench.launch.presets.collecting import instance_id_of
from obo_bench.launch.presets.foreign import LARGEST_DOCUMENT, LONGEST_LINE

Reader = Callable[[BufferedReader, Path], Iterable[str]]
_LONGEST_TEXT_LINE = 1 << 20


def ids_in(path: Path, option: str, read: Reader) -> list[str]:
    """Return the ids that `read` finds in a file, each once; raises PreflightRefused `launcher_input_unreadable`."""
    try:
        with open_regular(path) as stream:
            ids = list(dict.fromkeys(read(stream, path)))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        _refuse(path, f"{option} {str(path)!r} cannot be read: {why(error)}")
    if not ids:
        _refuse(path, f"{option} {str(path)!r} names no task")
    return ids


def jsonl_ids(stream: BufferedReader, _path: Path) -> Iterator[str]:
    """Read `instance_id` of each line of a JSON Lines file."""
    for number, line in _numbered(stream, LONGEST_LINE):
        if line.strip():
            row = _parsed(line, f"line {number}")
            yield checked_id(row.get("instance_id") if isinstance(row, dict) else None, f"line {number}", "instance_id")


def text_ids(stream: BufferedReader, _path: Path) -> Iterator[str]:
    """Read one id from each line of a text file; blank lines and what follows `#` do not count."""
    for number, line in _numbered(stream, _LONGEST_TEXT_LINE):
        text = _decoded(number, line).partition("#")[0].strip()
        if text:
            yield checked_id(text, f"line {number}", "id")


def document(stream: BufferedReader) -> Any:
    """Return the value of a JSON file; raises ValueError for what is none, or too large."""
    data = stream.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        raise ValueError(f"it is larger than {LARGEST_DOCUMENT} bytes")
    return parse(data)


def ids_of(values: Iterable[Any], place: str, *names: str) -> Iterator[str]:
    """Read the ids of a JSON list: texts, or objects that hold one under one of the names."""
    for number, value in enumerate(values, 1):
        found = next((value[name] for name in names if name in value), None) if isinstance(value, dict) else value
        yield checked_id(found, f"{place} {number}", names[0])


def csv_rows(stream: BufferedReader) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file whose header names `instance_id`; raises ValueError for another."""
    text = (_decoded(number, line) for number, line in _numbered(stream, _LONGEST_TEXT_LINE))
    rows = csv.DictReader(text, strict=True)
    if "instance_id" not in (rows.fieldnames or ()):
        raise ValueError(f"its header has no column instance_id, only {', '.join(rows.fieldnames or ())[:200]!r}")
    yield from rows


def whole_number(launch_value: str | None, option: str, path: Path) -> int | None:
    """Return an option's whole number that is not negative, None without the option; else refuse."""
    if launch_value is None:
        return None
    if not (launch_value.isascii() and launch_value.isdigit() and len(launch_value) < 10):
        _refuse(path, f"{option} {launch_value[:100]!r} of the launcher is no whole number, so its tasks are unknown")
    return int(launch_value)


def _decoded(number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"line {number}: {why(error)}") from error


def _parsed(line: bytes, place: str) -> Any:
    try:
        return parse(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is no JSON: {why(error)}") from error


def _numbered(stream: BufferedReader, longest: int) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n"):
            raise ValueError(f"line {number} is longer than {longest} bytes")
        yield number, line


def checked_id(value: Any, place: str, name: str) -> str:
    """Return the id that a foreign value is; raises ValueError that names the place for anything else."""
    found = instance_id_of(value)
    if found is None:
        raise ValueError(f"{place} has no usable {name}")
    return found


def _refuse(path: Path, message: str) -> NoReturn:
    raise PreflightRefused("launcher_input_unreadable", message, evidence={"file": str(path)})
