"""Find what `git status` does not show: bits, rules from outside the commit, and ignored files that Python prefers."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.peek import peek, shown
from obo_bench.core.seed.modules import TrackedFiles
from obo_bench.core.seed.repository import Repository
from obo_bench.core.seed.shadows import Ignored, examine_ignored
from obo_bench.core.seed.worktree import WorkTree

_NAMED = 10
"""Files that a command of a remedy names; all are in the evidence."""
_LONGEST_RULES = 1 << 20
_CONVERSION = re.compile(rb"(?m)^\s*[^#\s].*?\s[-!]?(filter|ident|text|eol|crlf|working-tree-encoding)\b")
"""gitattributes(5): what makes git compare something else than the file's bytes."""


@dataclass(frozen=True)
class Hidden:
    """A difference from the commit that git does not show, or may hide."""

    path: str
    """Relative to the checkout."""
    why: str
    """What hides it."""
    remedy: str
    """The command that ends it."""


def find_hidden(repository: Repository, tree: WorkTree) -> tuple[list[Hidden], list[str]]:
    """Return what is hidden in one work tree, without its submodules, and the ignored files that can be imported.

    Raises OSError when some of it cannot be read.
    """
    ignored = examine_ignored(repository.directory, tree.ignored, TrackedFiles(tree.listing))
    hidden = _bits(repository, tree) + _rules(repository, tree) + _ignored(repository.directory, ignored)
    return hidden, ignored.importable


def command(directory: Path, *words: str, paths: Sequence[str] = ()) -> str:
    """Return a git command for the shell that names at most the first few `paths`."""
    named = ["--", *paths[:_NAMED]] if paths else []
    return shlex.join(["git", "-C", str(directory), *words, *named])


def remove(directory: Path, paths: Sequence[str]) -> str:
    """Return a shell command that removes the first few `paths`."""
    return shlex.join(["rm", "-r", "--", *(str(directory / path) for path in paths[:_NAMED])])


def _bits(repository: Repository, tree: WorkTree) -> list[Hidden]:
    assumed, skipped = [shown(path) for path in tree.assumed], [shown(path) for path in tree.skipped]
    sparse = ("core.sparsecheckout", "true") in repository.config
    look = command(repository.directory, "update-index", "--no-assume-unchanged", paths=assumed)
    fetch = command(repository.directory, "update-index", "--no-skip-worktree", paths=skipped)
    if sparse:
        fetch = command(repository.directory, "sparse-checkout", "disable")
    return [Hidden(path, "git assumes it to be unchanged", look) for path in assumed] + [
        Hidden(path, "git skips it (skip-worktree)", fetch) for path in skipped
    ]


def _rules(repository: Repository, tree: WorkTree) -> list[Hidden]:
    own = repository.common_dir / "info" / "attributes"
    places = {str(own): own} | {
        shown(path): repository.directory / path.decode("utf-8", "surrogateescape")
        for path in tree.ignored
        if path.rpartition(b"/")[2] == b".gitattributes"
    }
    why = "it makes git convert files before it compares them, and is not part of the commit"
    return [Hidden(name, why, f"rm {shlex.quote(str(file))}") for name, file in places.items() if _converts(file)]


def _converts(file: Path) -> bool:
    try:
        return _CONVERSION.search(peek(file, _LONGEST_RULES)) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _ignored(directory: Path, ignored: Ignored) -> list[Hidden]:
    found = {
        "it is ignored, and Python would import it instead of a tracked module": ignored.shadowing,
        "Python would load it without looking at its tracked source": ignored.unchecked,
    }
    return [Hidden(path, why, remove(directory, paths)) for why, paths in found.items() for path in paths]
