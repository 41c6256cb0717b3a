"""Read what a launcher left behind: bounded, never waiting, regular files only, and only what is of this start."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from obo_bench.core.files import open_regular
from obo_bench.core.why import why
from obo_bench.gateway.foreign_json import parse
from obo_bench.launch.presets.launch import Extent, Launch
from obo_bench.launch.presets.problems import Problems

LONGEST_LINE = 32 << 20
"""Bytes of the longest line that is read: a prediction holds a whole patch."""
LARGEST_DOCUMENT = 64 << 20
"""Bytes of the largest JSON document that is read."""
MOST_LINES = 1_000_000
_CLOCK_SLACK_SEC = 0.05
"""A file's time comes from a clock that the kernel advances only every few milliseconds."""
_BLOCK = 1 << 20


def open_result(path: Path, launch: Launch, problems: Problems) -> BufferedReader | None:
    """Open a result file of this start; None, with a problem told, when there is none that can be read."""
    try:
        stream = open_regular(path)
    except FileNotFoundError:
        problems.tell(f"{path} is not there")
    except (OSError, ValueError) as error:
        problems.tell(f"{path} cannot be read: {why(error)}")
    else:
        if not is_older(os.fstat(stream.fileno()), launch):
            return stream
        stream.close()
        problems.tell(f"{path} is older than this start: what it says was not taken")
    return None


def is_older(found: os.stat_result, launch: Launch) -> bool:
    """Say whether a file was last written before the launcher was started."""
    return found.st_mtime + _CLOCK_SLACK_SEC < launch.started_at_unix


def json_lines(path: Path, launch: Launch, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file that this start added; the other lines are told, and counted."""
    stream = open_result(path, launch, problems)
    if stream is None:
        return
    with stream:
        _pass_over(stream, path, launch, problems)
        bad = 0
        for line in lines(stream, path, problems):
            value = as_object(line)
            if value is not None:
                yield value
            elif line.strip():
                bad += 1
    if bad:
        problems.tell(f"{path}: {bad} line(s) are no JSON object and were not taken")


def json_document(path: Path, launch: Launch, problems: Problems) -> Any:
    """Return the JSON value in a result file, None (told) when it cannot be read."""
    stream = open_result(path, launch, problems)
    if stream is None:
        return None
    with stream:
        return parsed(read_at_most(stream, LARGEST_DOCUMENT, path, problems), path, problems)


def parsed(data: bytes | None, place: object, problems: Problems) -> Any:
    """Return the value of a JSON text, None (told) when it is none."""
    if data is None:
        return None
    try:
        return parse(data)
    except (ValueError, RecursionError) as error:
        problems.tell(f"{place} is no JSON: {why(error)}")
        return None


def read_at_most(stream: Any, largest: int, place: object, problems: Problems) -> bytes | None:
    """Return what is left of a stream, None (told) when that is too much or the disk fails."""
    try:
        data: bytes = stream.read(largest + 1)
    except OSError as error:
        problems.tell(f"{place} cannot be read: {why(error)}")
        return None
    if len(data) > largest:
        problems.tell(f"{place} is larger than {largest} bytes and was not read")
        return None
    return data


def lines(stream: BufferedReader, place: object, problems: Problems) -> Iterator[bytes]:
    """Yield the lines of a stream; one that is too long is told and left out."""
    long = number = 0
    try:
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if number > MOST_LINES:
                problems.tell(f"{place} has more than {MOST_LINES} lines: the rest was not read")
                break
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                long += 1
                _finish_line(stream)
            else:
                yield line
    except OSError as error:
        problems.tell(f"{place} cannot be read: {why(error)}")
    if long:
        problems.tell(f"{place}: {long} line(s) are longer than {LONGEST_LINE} bytes and were not read")


def as_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line holds, or None."""
    with contextlib.suppress(ValueError, RecursionError):
        value = parse(line)
        return value if isinstance(value, dict) else None
    return None


def extent_of(path: Path) -> Extent | None:
    """Return what a file holds now, or None when it is not there or cannot be read."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            return Extent(size, _hash_of_next(stream, size))
    except (OSError, ValueError):
        return None


def _pass_over(stream: BufferedReader, path: Path, launch: Launch, problems: Problems) -> None:
    """Go to what this start added, if the file still begins with what was there before; else to its beginning."""
    before = launch.already.get(path)
    if before is None or before.size == 0:
        return
    if _hash_of_next(stream, before.size) == before.sha256:
        problems.tell(f"{path}: the first {before.size} bytes were there before this start and were not taken")
    else:
        stream.seek(0)


def _hash_of_next(stream: BufferedReader, size: int) -> str:
    digest = hashlib.sha256()
    while size > 0 and (block := stream.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()


def _finish_line(stream: BufferedReader) -> None:
    while (more := stream.readline(_BLOCK)) and not more.endswith(b"\n"):
        pass
