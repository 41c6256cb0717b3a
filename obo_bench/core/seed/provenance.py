"""What the checkout is: commit, branch, version, and every way in which it differs from its commit."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.git import GitUnavailable
from obo_bench.core.manifest import Source
from obo_bench.core.peek import peek, shown
from obo_bench.core.seed.examination import Examination, examine
from obo_bench.core.seed.fingerprint import fingerprint
from obo_bench.core.seed.hidden import Hidden
from obo_bench.core.seed.remotes import remotes, secrets_of
from obo_bench.core.seed.repository import Repository, open_repository

_LISTED = 200
"""How many paths are written out; hash and count cover all."""
_LONGEST_VERSION = 4096


@dataclass
class Provenance:
    """What was found out about a checkout, for the record and for the gates."""

    source: Source
    """What is recorded."""
    repository: Repository | None = None
    """The opened repository; None where git cannot open it."""
    hidden: list[Hidden] = field(default_factory=list)
    """Differences that git does not show."""
    trouble: Exception | None = None
    """Why the commit or the state could not be read."""
    secrets: list[str] = field(default_factory=list)
    """Secrets of the checkout's configuration."""


def collect_provenance(repo_dir: Path, timeout: float) -> Provenance:
    """Return all that can be found out about `repo_dir`; what stopped it is told, never raised.

    `timeout` bounds each group of questions to git, in seconds.
    """
    found = Provenance(Source(repo_dir=shown(os.fsencode(repo_dir))))
    try:
        found.source.version = read_version(repo_dir)
        _identify(found, repo_dir, timeout)
        if found.repository is not None and at_top(found.repository) and found.source.git_available:
            _describe_state(found, examine(found.repository))
    except (GitUnavailable, OSError, ValueError) as trouble:
        # ValueError: a path that no system call takes, or text that is not what git promises.
        found.trouble = trouble
    return found


def read_version(repo_dir: Path) -> str | None:
    """Return the first line of the checkout's VERSION file, or None."""
    try:
        lines = peek(repo_dir / "VERSION", _LONGEST_VERSION).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    return (lines[0].strip() or None) if lines else None


def at_top(repository: Repository) -> bool:
    """Say whether the examined directory is the top of its work tree."""
    return repository.toplevel is not None and repository.toplevel.resolve() == repository.directory.resolve()


def _identify(found: Provenance, repo_dir: Path, timeout: float) -> None:
    repository = found.repository = open_repository(repo_dir, timeout)
    found.secrets = secrets_of(repository.config)
    source = found.source
    source.head, source.git_available = repository.head, repository.head is not None
    source.shallow, source.git_dir_kind = repository.shallow, _git_dir_kind(repository)
    source.remotes = remotes(repository.config)


def _git_dir_kind(repository: Repository) -> str:
    if repository.git_dir != repository.common_dir:
        return "worktree"
    link = repository.directory / ".git"
    if not link.is_symlink() and link.is_dir():
        return "directory"
    return "submodule" if "modules" in repository.git_dir.parts else "elsewhere"


def _describe_state(found: Provenance, examination: Examination) -> None:
    source, tree, changes = found.source, examination.tree, examination.changes
    found.hidden = examination.hidden
    source.branch, source.describe = tree.branch, tree.describe
    source.status_available, source.dirty = True, bool(changes)
    source.status_entries = [str(change) for change in changes[:_LISTED]]
    source.status_sha256 = tree.changes_sha256
    source.contents_read = examination.reread
    source.ignored_importable = [shown(os.fsencode(path)) for path in examination.importable[:_LISTED]]
    source.ignored_importable_count = len(examination.importable)
    tracked = [change.path for change in changes if change.state != "??"]
    source.tracked_diff_sha256 = fingerprint(Path(source.repo_dir), tracked)
    source.tracked_diff_available = True
