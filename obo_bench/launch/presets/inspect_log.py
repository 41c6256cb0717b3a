"""Logs of Inspect: what an `.eval` archive, or a JSON log, says about each sample.

An archive is a ZIP file whose members are JSON: `header.json` once the evaluation has ended, else
`_journal/start.json`; `summaries.json`, else the parts under `_journal/summaries/`. Inspect compresses with Zstandard,
which `zipfile` knows from Python 3.14 on; before, the `zstandard` package is used where it is installed. A JSON log
holds all in one object.
"""

import importlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from obo_bench.launch.presets.foreign import LARGEST_DOCUMENT, open_result, parsed, read_at_most
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.problems import Problems

_ZSTANDARD = 93
_LOCAL_HEADER = 30
_JOURNAL = "_journal/summaries/"
_MOST_PARTS = 10_000
_DAMAGE = (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error, lzma.LZMAError)
"""RuntimeError is what `zipfile` raises for members that are encrypted, or compressed in a way it does not know."""


@dataclass(frozen=True)
class InspectLog:
    """What is taken from one log."""

    header: dict[str, Any] = field(default_factory=dict)
    """The object with `eval` and, once ended, `status`; empty when it cannot be read."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    """A summary of each sample: `id`, `epoch`, `scores`, `error`."""


def read_inspect_log(path: Path, launch: Launch, problems: Problems) -> InspectLog | None:
    """Return what a log of this start says; None, with the problem told, when it cannot be read at all."""
    stream = open_result(path, launch, problems)
    if stream is None:
        return None
    with stream:
        if path.suffix == ".json":
            value = parsed(read_at_most(stream, LARGEST_DOCUMENT, path, problems), path, problems)
            return _log(value, value.get("samples") if isinstance(value, dict) else None)
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read(archive, stream, path, problems)
        except _DAMAGE as error:
            problems.tell(f"{path} is no archive that can be read: {error}")
    return None


def _read(archive: zipfile.ZipFile, stream: BufferedReader, path: Path, problems: Problems) -> InspectLog:
    members = {member.filename: member for member in archive.infolist()}

    def value_of(name: str) -> Any:
        place = f"{path}, {name}"
        return parsed(_content(archive, stream, members[name], place, problems), place, problems)

    start = next((name for name in ("header.json", "_journal/start.json") if name in members), None)
    header = value_of(start) if start else None
    if "summaries.json" in members:
        return _log(header, value_of("summaries.json"))
    parts = sorted((name for name in members if name.startswith(_JOURNAL)), key=lambda name: (len(name), name))
    problems.tell(f"{path} was not finished: what its journal holds was taken")
    return _log(header, [sample for name in parts[:_MOST_PARTS] for sample in _listed(value_of(name))])


def _log(header: Any, samples: Any) -> InspectLog:
    return InspectLog(header if isinstance(header, dict) else {}, list(_listed(samples)))


def _listed(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else []) if isinstance(item, dict))


def _content(
    archive: zipfile.ZipFile, stream: BufferedReader, member: zipfile.ZipInfo, place: str, problems: Problems
) -> bytes | None:
    """Return a member's bytes; its own word on its size is not trusted."""
    if member.compress_type == _ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
        return _decompressed(stream, member, place, problems)
    with archive.open(member) as content:
        return read_at_most(content, LARGEST_DOCUMENT, place, problems)


def _decompressed(stream: BufferedReader, member: zipfile.ZipInfo, place: str, problems: Problems) -> bytes | None:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        problems.tell(
            f"{place} is compressed with Zstandard: install the package `zstandard` beside obo-bench, or let Inspect "
            "write JSON logs (--log-format json)"
        )
        return None
    stream.seek(member.header_offset)
    local = stream.read(_LOCAL_HEADER)
    names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    stream.seek(member.header_offset + _LOCAL_HEADER + names)
    if member.compress_size > LARGEST_DOCUMENT:
        problems.tell(f"{place} is larger than {LARGEST_DOCUMENT} bytes and was not read")
        return None
    try:
        with zstandard.ZstdDecompressor().stream_reader(
            stream.read(member.compress_size), read_across_frames=True
        ) as content:
            return read_at_most(content, LARGEST_DOCUMENT, place, problems)
    except zstandard.ZstdError as error:
        problems.tell(f"{place} cannot be decompressed: {error}")
        return None
