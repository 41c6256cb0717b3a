"""Compare the contents of the tracked files with the commit, without believing what git's index says of them.

The index remembers for each file that it was unchanged when it had this size and these times. Whoever can write the
index can make it say so of any contents (`git add` through a filter that lies is enough), and no setting of git looks
behind it. An index made afresh from the commit remembers nothing, so that git has to read every file, and the trees
that it is made from are held against their names. That costs about 10 microseconds a file; in a large checkout it would
take several times longer than `git status`, and is left out.
"""

import os
import tempfile
from itertools import islice
from pathlib import Path

from obo_bench.core.git import check
from obo_bench.core.peek import shown
from obo_bench.core.seed.hidden import Hidden, command
from obo_bench.core.seed.modules import module_of
from obo_bench.core.seed.repository import Repository
from obo_bench.core.seed.trees import forged_trees
from obo_bench.core.seed.worktree import WorkTree

MOST_FILES = 5000
"""Tracked files above which the index is believed."""
_MOST_BYTES = 128 << 20
"""In the commit."""
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_NO_FILTER = frozenset({b"unspecified", b"unset"})
_AT_ONCE = 500
"""Paths on one command line."""


def differing(repository: Repository, tree: WorkTree) -> list[Hidden] | None:
    """Return what differs from the commit although git does not show it; None when there is too much to read.

    Raises GitUnavailable or OSError when it cannot be found out.
    """
    if tree.listing.count(b"\0") > MOST_FILES or _size(repository) > _MOST_BYTES:
        return None
    with tempfile.TemporaryDirectory(prefix="obo-bench-index-") as place:
        index = Path(place) / "index"
        check(repository.ask(("read-tree", "HEAD"), index=index)[0])
        answer = check(repository.ask(_STATUS, index=index)[0])
    known = {change.path for change in tree.changes} | {*tree.assumed, *tree.skipped}
    found = [entry[3:] for entry in answer.split(b"\0") if entry and entry[3:] not in known]
    remedy = f"rm {repository.git_dir / 'index'} && {command(repository.directory, 'reset')}"
    why = "its contents are not the commit's, although git's index says so"
    return [Hidden(shown(path), why, remedy) for path in _unfiltered(repository, found)] + forged_trees(repository)


def _size(repository: Repository) -> int:
    """Return the bytes of the committed files: what lies there now could be made too large to be looked at."""
    listing = check(repository.ask(("ls-tree", "-r", "-l", "-z", str(repository.head)))[0])
    sizes = (entry.partition(b"\t")[0].split()[3] for entry in listing.split(b"\0")[:-1])
    # A submodule has none, nor has what a partial clone did not fetch.
    return sum(int(size) for size in sizes if size.isdigit())


def _unfiltered(repository: Repository, paths: list[bytes]) -> list[bytes]:
    """Leave out what the commit's own attributes give to a filter (large file storage): only that filter could tell.

    Modules stay: Python imports the bytes that lie there, whatever a filter makes of them.
    """
    left: list[bytes] = []
    remaining = iter(paths)
    while chunk := list(islice(remaining, _AT_ONCE)):
        names = [os.fsdecode(path) for path in chunk]
        fields = check(repository.ask(("check-attr", "-z", "filter", "--", *names))[0]).split(b"\0")
        judged = zip(chunk, names, fields[2::3], strict=True)
        left += [path for path, name, value in judged if value in _NO_FILTER or module_of(name)]
    return left
