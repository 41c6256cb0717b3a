"""Find what git ignores and Python would import, above all where it would take the place of a tracked module."""

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.peek import peek
from obo_bench.core.seed.modules import Module, Rank, TrackedFiles, module_of

_WALKED = 5000
"""Entries of wholly ignored directories that are looked at for the record: a data directory may hold millions."""
_CACHE = "__pycache__"
_PYC_HEADER = 8
_HASH_BASED, _CHECKED = 1, 2
"""Flags in the second word of a .pyc (PEP 552): without the second, Python never compares it with its source."""


@dataclass(frozen=True)
class Ignored:
    """What the ignored files of a checkout mean to Python."""

    shadowing: list[str]
    """Ignored paths that Python would take instead of a tracked module."""
    unchecked: list[str]
    """Compiled files of tracked modules that Python loads without looking at the source."""
    importable: list[str]
    """Every ignored path that can be imported, as far as the walk went."""


def examine_ignored(directory: Path, entries: Iterable[bytes], tracked: TrackedFiles) -> Ignored:
    """Judge what git ignores below `directory`; raises OSError when some of it cannot be read."""
    paths = [os.fsdecode(entry) for entry in entries]
    files = [path for path in paths if not _is_directory(directory, path)]
    directories = [path.rstrip("/") for path in paths if _is_directory(directory, path)]
    shadowing = [path for path in files if _wins(module_of(path), tracked)]
    shadowing += [path for path in directories if _package_wins(directory, path, tracked)]
    compiled = [path for path in files if path.endswith(".pyc") and _cached_source(path)]
    compiled += [path for cache in directories if _leaf(cache) == _CACHE for path in _listed(directory, cache)]
    importable = [path for path in files if (module := module_of(path)) and module.importable]
    importable += _walk(directory, [path for path in directories if _importable_directory(path)])
    return Ignored(shadowing, [path for path in compiled if _unchecked(directory, path, tracked)], importable)


def _is_directory(directory: Path, path: str) -> bool:
    # A link to a directory is a file to git and a directory to Python.
    return path.endswith("/") or ("." not in _leaf(path) and (directory / path).is_dir())


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]


def _wins(module: Module | None, tracked: TrackedFiles) -> bool:
    if module is None:
        return False
    rival = tracked.best_rank(module.parent, module.name)
    return rival is not None and module.rank <= rival


def _package_wins(directory: Path, path: str, tracked: TrackedFiles) -> bool:
    parent, _, name = path.rpartition("/")
    rival = tracked.best_rank(parent, name)
    if rival is None:
        return False
    inits = (module_of(found) for found in _listed(directory, path) if _leaf(found).startswith("__init__."))
    return any(init.rank <= rival for init in inits if init and init.rank < Rank.EXTENSION)


def _listed(directory: Path, path: str) -> list[str]:
    return [f"{path}/{entry.name}" for entry in sorted((directory / path).iterdir())]


def _cached_source(path: str) -> str | None:
    """Return the source of a compiled file in `__pycache__` (PEP 3147), or None when it is somewhere else."""
    cache, _, leaf = path.rpartition("/")
    above, _, last = cache.rpartition("/")
    if last != _CACHE or not leaf.endswith(".pyc"):
        return None
    source = f"{leaf.partition('.')[0]}.py"
    return f"{above}/{source}" if above else source


def _unchecked(directory: Path, path: str, tracked: TrackedFiles) -> bool:
    source = _cached_source(path)
    if source is None or source not in tracked:
        return False
    try:
        header = peek(directory / path, _PYC_HEADER)
    except FileNotFoundError:
        # A running server replaces them all the time.
        return False
    flags = int.from_bytes(header[4:], "little")
    return flags & (_HASH_BASED | _CHECKED) == _HASH_BASED


def _importable_directory(path: str) -> bool:
    return _leaf(path) != _CACHE and all(part.isidentifier() for part in path.split("/"))


def _walk(directory: Path, tops: list[str]) -> Iterator[str]:
    waiting, left = deque(tops), _WALKED
    while waiting and left > 0:
        place = waiting.popleft()
        # Data that only somebody else may read is no module of this checkout.
        with contextlib.suppress(OSError), os.scandir(directory / place) as entries:
            for entry in entries:
                left -= 1
                path = f"{place}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.extend([path] if _importable_directory(path) else [])
                elif (module := module_of(path)) and module.importable:
                    yield path
                if left <= 0:
                    break
