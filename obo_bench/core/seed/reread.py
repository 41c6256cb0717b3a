"""Compare the contents of the tracked files with the commit, without believing what git's index says of them.

The index remembers for each file that it was unchanged when it had this size and these times. Whoever can write the
index can make it say so of any contents (`git add` through a filter that lies is enough), and no setting of git looks
behind it. An index made afresh from the commit remembers nothing, so that git has to read every file. That costs about
10 microseconds a file; in a large checkout it would take several times longer than `git status`, and is left out.
"""

import os
import tempfile
from itertools import islice
from pathlib import Path

from obo_bench.core.git import check
from obo_bench.core.peek import shown
from obo_bench.core.seed.hidden import Hidden, command
from obo_bench.core.seed.repository import Repository
from obo_bench.core.seed.worktree import WorkTree

MOST_FILES = 5000
"""Tracked files above which the index is believed."""
_MOST_BYTES = 128 << 20
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_AT_ONCE = 500
"""Paths on one command line."""


def differing(repository: Repository, tree: WorkTree) -> list[Hidden] | None:
    """Return the tracked files that differ although git does not show it; None when there is too much to read.

    Raises GitUnavailable or OSError when it cannot be found out.
    """
    if tree.listing.count(b"\0") > MOST_FILES or _size(repository.directory, tree.listing) > _MOST_BYTES:
        return None
    with tempfile.TemporaryDirectory(prefix="obo-bench-index-") as place:
        index = Path(place) / "index"
        check(repository.ask(("read-tree", "HEAD"), index=index)[0])
        answer = check(repository.ask(_STATUS, index=index)[0])
    known = {change.path for change in tree.changes} | {*tree.assumed, *tree.skipped}
    found = [entry[3:] for entry in answer.split(b"\0") if entry and entry[3:] not in known]
    remedy = f"rm {repository.git_dir / 'index'} && {command(repository.directory, 'reset')}"
    why = "its contents are not the commit's, although git's index says so"
    return [Hidden(shown(path), why, remedy) for path in _unfiltered(repository, found)]


def _size(directory: Path, listing: bytes) -> int:
    top, total = os.fsencode(directory) + b"/", 0
    for entry in listing.split(b"\0")[:-1]:
        try:
            total += os.lstat(top + entry.partition(b"\t")[2]).st_size
        except (FileNotFoundError, NotADirectoryError):
            continue
    return total


def _unfiltered(repository: Repository, paths: list[bytes]) -> list[bytes]:
    """Leave out what the commit's own attributes give to a filter (large file storage): only that filter could tell."""
    left: list[bytes] = []
    remaining = iter(paths)
    while chunk := list(islice(remaining, _AT_ONCE)):
        asked = ("check-attr", "-z", "filter", "--", *map(os.fsdecode, chunk))
        fields = check(repository.ask(asked)[0]).split(b"\0")
        left += [path for path, value in zip(chunk, fields[2::3], strict=True) if value in {b"unspecified", b"unset"}]
    return left
