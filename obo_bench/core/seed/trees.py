"""Check that the stored trees are those that the commit names.

git looks an object up by its name and, but for the commit itself and its first tree, does not compute the name again:
who can write into the object store can put another tree under the name of a committed one, and index, files and
`git status` then agree on contents that the commit never had.
"""

import hashlib
import os
import re
import shlex
from collections import defaultdict

from obo_bench.core.git import GitUnavailable, check
from obo_bench.core.peek import shown
from obo_bench.core.seed.hidden import Hidden
from obo_bench.core.seed.repository import Repository

_ENTRY = re.compile(rb"(?P<mode>\d+) (?P<kind>blob|tree|commit) (?P<name>[0-9a-f]+)\t(?P<path>.+)", re.DOTALL)
"""Of git-ls-tree(1), "Output Format"."""
_SHA1_DIGITS = 40


def forged_trees(repository: Repository) -> list[Hidden]:
    """Return the directories of the commit whose stored tree is not the one of that name.

    Raises GitUnavailable when that cannot be found out.
    """
    commit = str(repository.head)
    top, listing = repository.ask(
        ("rev-parse", "--verify", f"{commit}^{{tree}}"), ("ls-tree", "-r", "-t", "-z", commit)
    )
    names, contents = {b"": check(top).strip()}, defaultdict[bytes, bytearray](bytearray)
    for entry in check(listing).split(b"\0")[:-1]:
        mode, kind, name, path = _parsed(entry)
        above, _, leaf = path.rpartition(b"/")
        contents[above] += mode.lstrip(b"0") + b" " + leaf + b"\0" + bytes.fromhex(name.decode())
        if kind == b"tree":
            names[path] = name
    return [
        _hidden(repository, path)
        for path, name in names.items()
        if not _is_tree(name, bytes(contents[path])) and not _is_stored(repository, name)
    ]


def _parsed(entry: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise GitUnavailable(f"git ls-tree says something unknown: {shown(entry[:200])!r}")
    return found["mode"], found["kind"], found["name"], found["path"]


def _is_tree(name: bytes, contents: bytes) -> bool:
    algorithm = hashlib.sha1 if len(name) == _SHA1_DIGITS else hashlib.sha256
    return algorithm(b"tree %d\0" % len(contents) + contents).hexdigest().encode() == name


def _is_stored(repository: Repository, name: bytes) -> bool:
    """Ask for the stored bytes: the list shows the odd modes of old commits in today's form."""
    return _is_tree(name, check(repository.ask(("cat-file", "tree", name.decode()))[0]))


def _hidden(repository: Repository, path: bytes) -> Hidden:
    remedy = (
        f"clone the repository again, `{shlex.join(['git', '-C', os.fspath(repository.directory), 'fsck'])}` tells more"
    )
    return Hidden(shown(path) or ".", "the tree stored under its name is not the one that the commit names", remedy)
