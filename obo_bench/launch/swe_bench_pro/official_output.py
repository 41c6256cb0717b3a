"""One official output: `<output-dir>/<instance_id>/<prefix>_output.json`, and what stands in it.

    {"tests": [{"name": "...", "status": "PASSED"}, ...]}

The evaluation writes none where it scored nothing. No link below the output directory is followed: what one leads to
is not what the evaluation wrote for this instance.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.why import why

SUFFIX = "_output.json"
"""What the name of an official output ends with."""
LARGEST_OUTPUT = 64 * 1024 * 1024
"""Bytes of the largest output that is read; one with 100,000 tests has about a tenth."""
NO_OFFICIAL_OUTPUT = "no_official_output"
"""Reason where nothing was scored."""
PASSED = "PASSED"
"""The one status that counts."""
_LONGEST_DETAIL = 300


@dataclass(frozen=True)
class OfficialOutput:
    """What was found for one prediction."""

    path: str | None = None
    """The file; None where there is none."""
    sha256: str | None = None
    """SHA-256 of its bytes; None where they could not be read."""
    mtime_unix: float | None = None
    """When it was last written, in wall-clock seconds; None likewise."""
    statuses: dict[str, frozenset[str]] = field(default_factory=dict)
    """By name of a test: every status that it is given."""
    reason: str = ""
    """Why it cannot be graded; empty where it can."""
    detail: str = ""
    """The same in words; bounded."""


class _Absent(Exception):
    """There is no output; the text says more."""


def read_official_output(output_dir: Path, instance_id: str, prefix: str | None) -> OfficialOutput:
    """Return the output of a prediction; whatever is wrong with it is its reason."""
    path = None
    try:
        with _directory(output_dir, instance_id) as directory:
            name = _name(directory, prefix)
            path = str(output_dir / instance_id / name)
            data, mtime = _read(directory, name)
    except _Absent as error:
        return OfficialOutput(reason=NO_OFFICIAL_OUTPUT, detail=_words(error))
    except (FileNotFoundError, NotADirectoryError):
        looked = f"{instance_id}/{'*' if prefix is None else prefix}{SUFFIX}"
        detail = f"there is no {looked} in the output directory"[:_LONGEST_DETAIL]
        return OfficialOutput(reason=NO_OFFICIAL_OUTPUT, detail=detail)
    except OSError as error:
        return OfficialOutput(path, reason=_unparseable(error), detail=_words(error))
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        return OfficialOutput(path, sha256, mtime, statuses=_statuses(json.loads(data)))
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        return OfficialOutput(path, sha256, mtime, reason=_unparseable(error), detail=_words(error))


@contextmanager
def _directory(output_dir: Path, instance_id: str) -> Iterator[int]:
    """Open the directory of an instance, which lies directly in the output directory."""
    descriptor = os.open(output_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        own = os.open(_component("instance_id", instance_id), flags, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    try:
        yield own
    finally:
        os.close(own)


def _name(directory: int, prefix: str | None) -> str:
    """Return the name of the output: the prediction's own, or the only one where the prediction names none."""
    if prefix is not None:
        return _component("prefix", f"{prefix}{SUFFIX}")
    names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
    if len(names) != 1:
        raise _Absent(f"the prediction has no prefix, and there are {len(names)} files *{SUFFIX}")
    return names[0]


def _component(what: str, name: str) -> str:
    """Return a name of one path component; no other can be that of an official output."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        encoded = b""
    if not 0 < len(encoded) <= 255 or "/" in name or "\0" in name or name in (".", ".."):
        raise _Absent(f"the {what} {name[:100]!a} cannot be part of a file's name")
    return name


def _read(directory: int, name: str) -> tuple[bytes, float]:
    # Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError("it is not a regular file")
        data = stream.read(LARGEST_OUTPUT + 1)
    if len(data) > LARGEST_OUTPUT:
        raise OSError(f"it is larger than {LARGEST_OUTPUT} bytes")
    return data, state.st_mtime


def _statuses(document: Any) -> dict[str, frozenset[str]]:
    """Return the statuses by test; raises TypeError or KeyError for what is of another shape."""
    tests = _of_kind(document, dict, "the document")["tests"]
    found: dict[str, set[str]] = {}
    for test in _of_kind(tests, list, "tests"):
        entry = _of_kind(test, dict, "an entry of tests")
        name, status = _of_kind(entry["name"], str, "a name"), _of_kind(entry["status"], str, "a status")
        found.setdefault(name, set()).add(status)
    return {name: frozenset(statuses) for name, statuses in found.items()}


def _of_kind(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _unparseable(error: Exception) -> str:
    return f"output_unparseable:{type(error).__name__}"


def _words(error: Exception) -> str:
    return (f"there is no {error}" if isinstance(error, KeyError) else why(error))[:_LONGEST_DETAIL]
