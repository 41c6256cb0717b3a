"""Puts a proven eval.json into the directory, and leaves the official package's own rewriting of it alone.

`programbench submit package` moves the log and the failure texts of `<iid>.eval.json` to `<iid>.eval.log.json`, in
place (so the file must be a copy, never a link to the run's own), and with `--upload-to` only `.url` and `.sha256` of
the latter stay. Source: `split_eval_json` and `_upload_artifacts` of programbench 1.2.5.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object, read_whole, sha256_file, write_bytes
from obo_bench.programbench.evaluation.eval_files import eval_json_path, provenance_path
from obo_bench.programbench.leaderboard.selection import Graded

_MOVED_TEXTS = ("message", "text")
_LOG_SUFFIXES = ("", ".url", ".sha256")
UNPROVEN_SUFFIX = ".unproven"
"""Appended to the name of a result that must not be counted; the official package looks at no such file."""


class EvalChanged(ValueError):
    """The run's eval.json was replaced between its proof and its copy."""


class RecordUnreadable(Exception):
    """A record of the source is there and cannot be read: no fault of the destination."""


def read_record(path: Path) -> bytes:
    """Return the bytes of a file of the source; raises RecordUnreadable."""
    with reading(path):
        return read_whole(path)


@contextmanager
def reading(what: Path) -> Iterator[None]:
    """Tell an OSError of the source from one of the destination: raises RecordUnreadable instead."""
    try:
        yield
    except OSError as error:
        raise RecordUnreadable(f"{str(error.filename or what)!r}: {error.strerror or error}") from error


def place_eval(source: Path, dest: Path, graded: Graded) -> None:
    """Make the result in `dest` the proven one, with its proof beside it.

    Raises EvalChanged, RecordUnreadable, OSError.
    """
    iid = graded.instance_id
    target = eval_json_path(dest, iid)
    original = read_record(eval_json_path(source, iid))
    if hashlib.sha256(original).hexdigest() != graded.proof.eval_json_sha256:
        raise EvalChanged(f"{iid}: its eval.json was replaced while it was exported")
    if not _is_there(target, original):
        for path in _log_files(target):
            path.unlink(missing_ok=True)
        write_bytes(target, original)
    copy_if_changed(provenance_path(source, iid), provenance_path(dest, iid))


def set_unproven_aside(dest: Path, iid: str) -> bool:
    """Rename a result in `dest` so that the official package does not count it; tell whether there was one."""
    target = eval_json_path(dest, iid)
    there = target.is_symlink() or target.exists()
    for path in (target, *_log_files(target), provenance_path(dest, iid)):
        if path.is_symlink() or path.exists():
            path.replace(path.with_name(path.name + UNPROVEN_SUFFIX))
    return there


def copy_if_changed(source: Path, target: Path) -> bool:
    """Copy a regular file's bytes, unless they are there; without a source the target goes.

    Returns whether the target is there now. A link is no record: it could show a file of another place. Raises
    RecordUnreadable, OSError.
    """
    if source.is_symlink() or not source.is_file():
        target.unlink(missing_ok=True)
        return False
    data = read_record(source)
    if target.is_symlink() or not target.is_file() or target.read_bytes() != data:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, data)
    return True


def _is_there(target: Path, original: bytes) -> bool:
    if target.is_symlink() or not target.is_file():
        return False
    if sha256_file(target) == hashlib.sha256(original).hexdigest():
        return True
    light, heavy = split(json.loads(original))
    if read_json_object(target) != light:
        return False
    log, _, digest = _log_files(target)
    if log.is_file():
        return read_json_object(log) == heavy
    # The official package hashes the log exactly as it wrote it.
    written = hashlib.sha256(json.dumps(heavy).encode()).hexdigest()
    return digest.is_file() and digest.read_text("utf-8", "replace").split()[:1] == [written]


def split(recorded: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the official package makes of an eval.json: the light file and the log file."""
    failures: dict[str, dict[str, Any]] = {}
    tests = []
    for test in recorded.get("test_results") or []:
        extra = dict(test.get("extra") or {})
        moved = {name: extra.pop(name) for name in _MOVED_TEXTS if name in extra}
        if moved:
            failures[f"{test['branch']}/{test['name']}" if test.get("branch") else test["name"]] = moved
        tests.append({**test, "extra": extra})
    heavy = {"log": recorded.get("log") or [], "failures": failures}
    return {**recorded, "test_results": tests, "log": []}, heavy


def _log_files(target: Path) -> list[Path]:
    name = target.name.removesuffix(".json") + ".log.json"
    return [target.with_name(name + suffix) for suffix in _LOG_SUFFIXES]
