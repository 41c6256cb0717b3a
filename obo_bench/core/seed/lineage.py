"""The line of descent: whether a checkout's commit descends from the one that it was seeded from, never equality."""

import re
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.git import GitUnavailable
from obo_bench.core.peek import peek
from obo_bench.core.seed.repository import Repository, open_repository

STAMP_NAME = "ouroboros_seed"
"""File in the git directory that holds the commit which a volume was seeded from."""
_LONGEST_STAMP = 200
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_FULL = frozenset({40, 64})
"""Digits of a whole SHA-1 or SHA-256 name."""


@dataclass(frozen=True)
class Descent:
    """Whether one commit descends from another: true only when that is proven."""

    reason: str | None
    """None when it is proven; else lineage_broken (the whole history holds no path), seed_shallow (the history is cut
    before a path is found), lineage_unknown (the commit is missing or ambiguous, or git failed) or
    seed_head_unreadable."""
    detail: str = ""
    """What was found, in words."""

    def __bool__(self) -> bool:
        return self.reason is None


def commit_lineage_ok(repo_dir: str | Path, ancestor: str, descendant: str = "HEAD") -> Descent:
    """Say whether `descendant` is `ancestor` or descends from it, in the repository at `repo_dir`; never raises.

    Commits are hexadecimal, whole or at least 7 digits: names can be moved.
    """
    try:
        repository = open_repository(Path(repo_dir))
    except (GitUnavailable, OSError, ValueError) as error:
        return Descent("seed_head_unreadable", f"no commit can be read from {str(repo_dir)!r}: {error}")
    return descent(repository, ancestor, descendant)


def descent(repository: Repository, ancestor: str, descendant: str = "HEAD") -> Descent:
    """Say the same of a repository that is open; never raises."""
    try:
        young = repository.head if descendant == "HEAD" else resolve(repository, descendant)
        if young is None:
            return Descent("seed_head_unreadable", f"HEAD cannot be read: {repository.complaint}")
        return _walk(repository, resolve(repository, ancestor), young)
    except (GitUnavailable, OSError, ValueError) as error:
        return Descent("lineage_unknown", str(error))


def resolve(repository: Repository, commit: str) -> str:
    """Return the whole name of a commit that the repository holds; raises GitUnavailable when it is not exactly one."""
    wanted = commit.lower()
    if not _COMMIT.fullmatch(wanted):
        raise GitUnavailable(f"{commit[:80]!r} is not a commit: 7 to 64 hexadecimal digits are expected")
    answer = repository.ask(("rev-parse", "--verify", f"{wanted}^{{commit}}"))[0]
    found = answer.output.decode("ascii", "replace").strip()
    # A branch or tag may be called like the beginning of a commit's name, and git would prefer it.
    if answer.status != 0 or not found.startswith(wanted):
        raise GitUnavailable(f"the commit {wanted} is not in the repository, or is not the only one of that name"
                             f" ({answer.complaint.splitlines()[-1] if answer.complaint else found})")  # fmt: skip
    return found


def _walk(repository: Repository, old: str, young: str) -> Descent:
    answer = repository.ask(("merge-base", "--is-ancestor", old, young))[0]
    if answer.status == 0:
        return Descent(None)
    if answer.status != 1 or answer.complaint:
        raise GitUnavailable(answer.complaint or f"git merge-base ended with {answer.status}")
    if repository.shallow:
        return Descent("seed_shallow", f"the history of {young} is cut before it reaches {old}")
    return Descent("lineage_broken", f"{young} does not descend from {old}")


def read_stamp(repository: Repository) -> str | None:
    """Return the commit in the seed stamp of a repository, or None when there is no readable one."""
    for place in dict.fromkeys((repository.git_dir, repository.common_dir)):
        try:
            text = peek(place / STAMP_NAME, _LONGEST_STAMP).decode("ascii").strip().lower()
        except (OSError, UnicodeError):
            continue
        if len(text) in _FULL and _COMMIT.fullmatch(text):
            return text
    return None
