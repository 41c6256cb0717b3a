"""Examine a checkout with its submodules: every difference from its commits, shown by git or not."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.git import GitUnavailable
from obo_bench.core.peek import shown
from obo_bench.core.seed.hidden import Hidden, command, find_hidden
from obo_bench.core.seed.repository import Repository, open_repository
from obo_bench.core.seed.reread import differing
from obo_bench.core.seed.worktree import Change, WorkTree, read_worktree

_DEEPEST = 16
"""Submodules within submodules; more is a loop."""


@dataclass(frozen=True)
class Examination:
    """How a checkout differs from its commits."""

    tree: WorkTree
    """What git says of it, without its submodules."""
    changes: list[Change]
    """All that git shows, submodules included."""
    hidden: list[Hidden]
    """All that it does not."""
    importable: list[str]
    """Ignored files that can be imported."""
    reread: bool
    """Whether the contents of all tracked files were read, instead of trusting git's index."""


def examine(repository: Repository, depth: int = 0) -> Examination:
    """Return every difference; raises GitUnavailable or OSError when it cannot be known for certain."""
    if depth > _DEEPEST:
        raise GitUnavailable(f"submodules lie more than {_DEEPEST} deep in each other: {str(repository.directory)!r}")
    tree = read_worktree(repository)
    if tree.head != repository.head:
        raise GitUnavailable(f"the commit changed from {repository.head} to {tree.head} while it was examined")
    hidden, importable = find_hidden(repository, tree)
    stale = differing(repository, tree)
    whole = Examination(tree, list(tree.changes), hidden + (stale or []), importable, stale is not None)
    for path in tree.gitlinks:
        whole = _with_submodule(repository, whole, path, depth)
    return whole


def _with_submodule(repository: Repository, whole: Examination, path: bytes, depth: int) -> Examination:
    place, name = repository.directory / os.fsdecode(path), shown(path)
    if place.is_symlink() or not os.path.lexists(place / ".git"):
        why = "the submodule is not initialised: its files are missing, and git would not show others in their place"
        remedy = command(repository.directory, "submodule", "update", "--init", paths=[name])
        return dataclasses.replace(whole, hidden=[*whole.hidden, Hidden(name, why, remedy)])
    inside = _opened(place, repository.timeout)
    inner = examine(inside, depth + 1)
    return Examination(
        whole.tree,
        [*whole.changes, *(Change(each.state, path + b"/" + each.path) for each in inner.changes)],
        [*whole.hidden, *(dataclasses.replace(each, path=f"{name}/{each.path}") for each in inner.hidden)],
        [*whole.importable, *(f"{name}/{each}" for each in inner.importable)],
        whole.reread and inner.reread,
    )


def _opened(place: Path, timeout: float) -> Repository:
    inside = open_repository(place, timeout)
    if inside.head is None or inside.toplevel is None or not inside.toplevel.samefile(place):
        raise GitUnavailable(
            f"the submodule {str(place)!r} cannot be read: {inside.complaint or 'it has no work tree'}"
        )
    return inside
