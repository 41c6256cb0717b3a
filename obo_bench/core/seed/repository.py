"""Open a checkout: where its git directory and top are, its commit, and its own configuration made harmless."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.gather import Answer
from obo_bench.core.git import (
    TIMEOUT_SEC,
    GitUnavailable,
    Setting,
    ask_git,
    check,
    clean_environment,
    plain_environment,
)

_FACTS = (
    "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--is-bare-repository", "--git-common-dir",
    "--is-shallow-repository", "--show-toplevel",
)  # fmt: skip
_FACTS_ANSWER = re.compile(
    rb"(?P<git>.+)\n(?P<bare>true|false)\n(?P<common>.+)\n(?P<shallow>true|false)\n(?:(?P<top>.+)\n)?", re.DOTALL
)
_FOREIGN_OWNER = re.compile(r"(?:dubious ownership in repository at|unsafe repository) \(?'(?P<path>.+?)'", re.DOTALL)
_STREAMING: Sequence[Setting] = (
    # Above this size git streams a file instead of mapping it into memory ...
    ("core.bigFileThreshold", "8m"),
    # ... but then compresses all of it, even to compare it only.
    ("core.compression", "0"),
    ("pack.compression", "0"),
)
_FILTER = re.compile(r"filter\.(?P<driver>.+)\.[^.]+", re.DOTALL)


class ForeignOwner(GitUnavailable):
    """The checkout belongs to somebody else, and nobody declared it safe."""

    def __init__(self, message: str, directory: str) -> None:
        super().__init__(message)
        self.directory = directory
        """The directory as git wants to see it declared."""


@dataclass(frozen=True)
class Repository:
    """A checkout that git can open, with the settings under which it is asked."""

    directory: Path
    """Where git is asked."""
    git_dir: Path
    """Its own git directory."""
    common_dir: Path
    """The git directory that holds the objects: another one in a worktree."""
    toplevel: Path | None
    """Top of the work tree; None without one."""
    bare: bool
    """Whether it has no work tree by declaration."""
    shallow: bool
    """Whether its history is cut."""
    head: str | None
    """Its commit; None where none can be read."""
    complaint: str
    """Why there is no commit, in git's words."""
    config: Sequence[Setting]
    """Its own configuration, as declared."""
    trusted: Sequence[Setting]
    """The `safe.directory` declarations of the operator that had to be honoured."""
    timeout: float
    """Seconds for each group of questions."""

    def ask(self, *questions: Sequence[str], index: Path | None = None) -> list[Answer]:
        """Ask git several questions at once, optionally of another index file; raises GitUnavailable on none."""
        environ = clean_environment([*_STREAMING, *self.trusted, *_without_filters(self.config)])
        if index is not None:
            environ["GIT_INDEX_FILE"] = str(index)
        return ask_git(self.directory, questions, timeout=self.timeout, environ=environ)


def open_repository(directory: Path, timeout: float = TIMEOUT_SEC) -> Repository:
    """Return the repository that `directory` is in; raises GitUnavailable (ForeignOwner) when git cannot say."""
    try:
        return _open(directory, timeout, ())
    except ForeignOwner:
        trusted = _declared_safe(timeout)
        if not trusted:
            raise
        return _open(directory, timeout, trusted)


def _open(directory: Path, timeout: float, trusted: Sequence[Setting]) -> Repository:
    questions = (_FACTS, ("rev-parse", "--verify", "HEAD^{commit}"), ("config", "--list", "-z"))
    facts, head, config = ask_git(directory, questions, timeout=timeout, environ=clean_environment(trusted))
    if foreign := _FOREIGN_OWNER.search(facts.complaint):
        raise ForeignOwner(facts.complaint, foreign["path"])
    found = _FACTS_ANSWER.fullmatch(facts.output)
    if found is None:
        raise GitUnavailable(facts.complaint or "git does not say where the repository is")
    return Repository(
        directory=directory,
        git_dir=_path(found["git"]),
        common_dir=_path(found["common"]),
        toplevel=_path(found["top"]) if found["top"] else None,
        bare=found["bare"] == b"true",
        shallow=found["shallow"] == b"true",
        head=head.output.decode("ascii").strip() if head.status == 0 else None,
        complaint=head.complaint,
        config=_settings(check(config)),
        trusted=trusted,
        timeout=timeout,
    )


def _path(found: bytes) -> Path:
    return Path(os.fsdecode(found))


def _settings(listed: bytes) -> list[Setting]:
    pairs = (os.fsdecode(entry).partition("\n") for entry in listed.split(b"\0") if entry)
    return [(name, value) for name, _, value in pairs]


def _without_filters(config: Sequence[Setting]) -> list[Setting]:
    """Return settings that switch off every content filter: it could lie, and it would run a program."""
    drivers = {found["driver"] for name, _ in config if (found := _FILTER.fullmatch(name))}
    off = (("clean", ""), ("process", ""), ("smudge", ""), ("required", "false"))
    return [(f"filter.{driver}.{key}", value) for driver in sorted(drivers) for key, value in off]


def _declared_safe(timeout: float) -> list[Setting]:
    """Return what the operator declared safe in the system's or his own configuration, which is not for us to change.

    Both lists are read, as git would read them; an empty value there clears what came before it.
    """
    questions = [("config", scope, "--type=path", "-z", "--get-all", "safe.directory") for scope in _SCOPES]
    answers = ask_git(Path("/"), questions, timeout=timeout, environ=plain_environment())
    values = [value for answer in answers for value in os.fsdecode(answer.output).split("\0")[:-1]]
    return [("safe.directory", value) for value in values]


_SCOPES = ("--system", "--global")
