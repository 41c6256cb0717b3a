"""Find result files under a directory: in order, bounded, no link followed, and only those of this start."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from obo_bench.launch.presets.foreign import is_older
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.problems import Problems

MOST_ENTRIES = 1_000_000
"""Entries of directories that are looked at."""


def files_under(
    root: Path, wanted: Callable[[str], bool], launch: Launch, problems: Problems, *, depth: int
) -> Iterator[Path]:
    """Yield the regular files of this start whose name is wanted, in the order of their paths.

    The files of `root` itself are at depth 1. What is older is counted and told, and so is a wanted name that is no
    regular file: opening a link would leave the directory, and opening a pipe could wait.
    """
    older = odd = 0
    for entry in _entries(root, depth, problems):
        if not wanted(entry.name) or entry.is_dir(follow_symlinks=False):
            continue
        found = _regular(entry)
        if found is None:
            odd += 1
        elif is_older(found, launch):
            older += 1
        else:
            yield Path(entry.path)
    if odd:
        problems.tell(f"{root}: {odd} result file(s) are links or no regular files and were not read")
    if older:
        problems.tell(f"{root}: {older} result file(s) are older than this start and were not taken")


def _regular(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return what is known of a regular file; None for anything else, also for one that has just vanished."""
    try:
        return entry.stat(follow_symlinks=False) if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def _entries(root: Path, depth: int, problems: Problems) -> Iterator[os.DirEntry[str]]:
    left = MOST_ENTRIES
    waiting = [(str(root), depth)]
    while waiting:
        directory, levels = waiting.pop()
        try:
            with os.scandir(directory) as found:
                entries = sorted(
                    (entry for entry, _ in zip(found, range(left), strict=False)), key=lambda one: one.name
                )
        except OSError as error:
            problems.tell(f"{directory} cannot be read: {error.strerror or error}")
            continue
        left -= len(entries)
        if not left:
            problems.tell(f"{root} holds more than {MOST_ENTRIES} entries: the rest was not looked at")
            return
        yield from entries
        if levels > 1:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            waiting += [(path, levels - 1) for path in reversed(below)]
