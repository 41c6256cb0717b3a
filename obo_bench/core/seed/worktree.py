"""Read in one walk how a work tree differs from its commit, what git ignores in it, and what git does not look at."""

import hashlib
import re
from dataclasses import dataclass, field

from obo_bench.core.git import GitUnavailable, check
from obo_bench.core.peek import shown
from obo_bench.core.seed.repository import Repository

_STATUS = (
    # Submodules: only their commits are compared here. What is in them is examined by their own configuration made
    # harmless, not by a git that this one would start.
    "status", "--porcelain=v2", "--branch", "-z", "--no-ahead-behind", "--no-renames", "--untracked-files=normal",
    "--ignored=matching", "--ignore-submodules=dirty",
)  # fmt: skip
_LISTING = ("ls-files", "-v", "-s", "-z")
_DESCRIBE = ("describe", "--always", "--tags", "--abbrev=12")

_RECORD = re.compile(
    rb"(?:1 (?P<one>..) (?:\S+ ){6}|u (?P<both>..) (?:\S+ ){8}|(?P<other>[?!]) )(?P<path>.+)", re.DOTALL
)
"""Of git-status(1), "Porcelain Format Version 2"; a rename (record 2) cannot occur with --no-renames."""
_REMARKABLE = re.compile(rb"\0(?:(?P<tag>[a-zS]) (?P<mode>\d+)|[A-Z] (?P<link>160000)) [0-9a-f]+ \d\t(?P<path>[^\0]+)")
"""An entry of `ls-files -v -s -z` that is a submodule, or whose tag says that git does not look at it."""
_GITLINK = b"160000"


@dataclass(frozen=True)
class Change:
    """A path that differs from the commit."""

    state: str
    """Git's two letters, with a space for "unchanged"; ?? when untracked."""
    path: bytes
    """Relative to the checkout."""

    def __str__(self) -> str:
        return f"{self.state} {shown(self.path)}"


@dataclass(frozen=True)
class WorkTree:
    """What git says of a work tree."""

    head: str
    """The commit that it was compared with."""
    branch: str | None
    """Branch name; None on a detached head."""
    describe: str | None
    """`git describe`, where it has an answer."""
    changes: list[Change]
    """Every path that differs."""
    changes_sha256: str
    """Hash of what git said of them."""
    ignored: list[bytes]
    """Paths left out by an ignore rule; a wholly ignored directory ends with a slash."""
    assumed: list[bytes]
    """Tracked files that git assumes to be unchanged."""
    skipped: list[bytes]
    """Tracked files that git expects to be absent."""
    gitlinks: list[bytes]
    """Paths of the submodules."""
    listing: bytes = field(repr=False)
    """All tracked files, as `git ls-files -v -s -z` lists them."""


def read_worktree(repository: Repository) -> WorkTree:
    """Return the state of a work tree; raises GitUnavailable when it cannot be known for certain."""
    status, listing, describe = repository.ask(_STATUS, _LISTING, _DESCRIBE)
    records = check(status).split(b"\0")
    if status.complaint:
        # For instance "could not open directory": git goes on and calls the rest clean.
        raise GitUnavailable(status.complaint)
    entries = [_parsed(record) for record in records if record and not record.startswith(b"# ")]
    headers = dict(record[2:].decode("utf-8", "replace").split(" ", 1) for record in records if record[:2] == b"# ")
    told = b"\0".join(record for record in records if record and record[:2] not in {b"# ", b"! "})
    flagged = list(_REMARKABLE.finditer(b"\0" + check(listing)))
    branch = headers.get("branch.head")
    return WorkTree(
        head=headers.get("branch.oid", ""),
        branch=None if branch == "(detached)" else branch,
        describe=describe.output.decode("utf-8", "replace").strip() or None,
        changes=[entry for entry in entries if entry.state != "!!"],
        changes_sha256=hashlib.sha256(told).hexdigest(),
        ignored=[entry.path for entry in entries if entry.state == "!!"],
        assumed=[found["path"] for found in flagged if found["tag"] and found["tag"].islower()],
        skipped=[found["path"] for found in flagged if found["tag"] in {b"S", b"s"}],
        gitlinks=[found["path"] for found in flagged if _GITLINK in {found["mode"], found["link"]}],
        listing=listing.output,
    )


def _parsed(record: bytes) -> Change:
    found = _RECORD.fullmatch(record)
    if found is None:
        raise GitUnavailable(f"git status says something unknown: {shown(record[:200])!r}")
    state = found["one"] or found["both"] or found["other"] * 2
    return Change(state.decode("ascii", "replace").replace(".", " "), found["path"])
