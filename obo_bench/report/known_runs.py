"""The runs below a runs root, newest first. Bounded and light, because a shell's completion waits for it."""

import os
import re
import time
from operator import itemgetter
from pathlib import Path

from obo_bench.core.peek import peek
from obo_bench.programbench.no_run import holds_only_refusals

MANIFEST = "run_manifest.json"
RUNS = "programbench"
"""Directory below the runs root that holds what `programbench` commands take by its id."""
KINDS = (RUNS, "attest")
"""Directories below the runs root that hold records only, whatever state these are in."""
COMPLETION_SEC = 0.5
"""What a completion may take; runs that were not looked at by then come last."""
_HEAD = 4096
"""Bytes of a manifest; its time comes before everything that can be long."""
_CREATED = re.compile(rb'"created_at_unix":\s*([0-9.eE+]+)')
_UNKNOWN = 0.0


def known_run_ids(runs_root: Path | None, prefix: str = "") -> list[str]:
    """Return the ids of the runs whose name begins with `prefix`, newest first; empty where nothing can be read."""
    if runs_root is None:
        return []
    return [root.name for root in newest_first(runs_root / RUNS, prefix, COMPLETION_SEC) if _is_word(root.name)]


def recorded(runs_root: Path) -> list[tuple[float, Path]]:
    """Return every record below a runs root with its time, also of other benchmarks, campaigns and graders.

    A directory that is not one of `KINDS` may hold anything: what has a manifest in it is a record. Never raises.
    """
    others = [pair for place in other_places(runs_root) for pair in dated(place)]
    found = [pair for pair in others if os.path.lexists(pair[1] / MANIFEST)]
    return [*(pair for kind in KINDS for pair in dated(runs_root / kind)), *found]


def other_places(runs_root: Path) -> list[Path]:
    """Return the directories below a runs root that may hold records of other benchmarks. Never raises."""
    return [runs_root / name for name in sorted(_names(runs_root, "")) if name not in KINDS]


def newest_first(place: Path, prefix: str = "", limit_sec: float | None = None) -> list[Path]:
    """Return the directories in `place`, by the time at which their run was admitted, the latest first.

    After `limit_sec` seconds the rest comes in the order of the names, the last first. Never raises.
    """
    return [root for _, root in sorted(dated(place, prefix, limit_sec), key=itemgetter(0), reverse=True)]


def dated(place: Path, prefix: str = "", limit_sec: float | None = None) -> list[tuple[float, Path]]:
    """Return the directories in `place`, the last name first, each with `created_unix`; 0.0 after `limit_sec` seconds.

    Those where only a refusal is recorded, because there is no such run, are left out. Never raises.
    """
    give_up = None if limit_sec is None else time.monotonic() + limit_sec
    found = []
    for name in sorted(_names(place, prefix), reverse=True):
        late = give_up is not None and time.monotonic() > give_up
        if late or not holds_only_refusals(place / name):
            found.append((_UNKNOWN if late else created_unix(place / name), place / name))
    return found


def created_unix(root: Path) -> float:
    """Return when the run in a directory was admitted, in wall-clock seconds; where no manifest tells, its last change.

    0.0 when nothing is known.
    """
    try:
        told = _CREATED.search(peek(root / MANIFEST, _HEAD))
        return float(told[1]) if told else root.stat().st_mtime
    except (OSError, ValueError):
        return _changed(root)


def _changed(root: Path) -> float:
    try:
        return root.stat().st_mtime
    except OSError:
        return _UNKNOWN


def _names(place: Path, prefix: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [entry.name for entry in entries if entry.name.startswith(prefix) and _is_directory(entry)]
    except OSError:
        return []


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:
        return False


def _is_word(name: str) -> bool:
    """A name that a shell would split, or that drives a terminal, is no run's of ours."""
    return name.isprintable() and not any(character.isspace() for character in name)
