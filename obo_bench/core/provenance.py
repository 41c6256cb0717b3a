"""What the checkout is: commit, branch, version, and every way in which it differs from its commit."""

import hashlib
import stat
from pathlib import Path

from obo_bench.core.git import GitUnavailable, git
from obo_bench.core.manifest import Source

_LISTED = 200
"""How many changed paths are written out; the hash covers all."""


def read_version(repo_dir: Path) -> str | None:
    """Return the first line of the checkout's VERSION file, or None."""
    try:
        lines = (repo_dir / "VERSION").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return (lines[0].strip() or None) if lines else None


def collect_source(repo_dir: Path) -> tuple[Source, str]:
    """Return what git says of `repo_dir`, and git's own words where it refused."""
    source = Source(repo_dir=str(repo_dir), version=read_version(repo_dir))
    try:
        source.head = git(repo_dir, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
        source.git_available = True
        source.branch = _optional(repo_dir, "symbolic-ref", "--quiet", "--short", "HEAD")
        source.describe = _optional(repo_dir, "describe", "--always", "--tags", "--abbrev=12")
        _read_status(repo_dir, source)
    except GitUnavailable as refused:
        return source, str(refused)
    return source, ""


def toplevel(repo_dir: Path) -> Path | None:
    """Return the top directory of the work tree that holds `repo_dir`, or None."""
    answer = _optional(repo_dir, "rev-parse", "--show-toplevel")
    return Path(answer) if answer else None


def hidden_changes(repo_dir: Path) -> list[str]:
    """Return the tracked files that git was told not to look at (assume-unchanged, skip-worktree)."""
    entries = git(repo_dir, "ls-files", "-v", "-z").split(b"\0")
    hidden = [entry for entry in entries if entry[:1].islower() or entry[:1] == b"S"]
    return [entry[2:].decode("utf-8", "surrogateescape") for entry in hidden]


def _optional(repo_dir: Path, *arguments: str) -> str | None:
    try:
        return git(repo_dir, *arguments).decode("utf-8", "replace").strip() or None
    except GitUnavailable:
        return None


def _read_status(repo_dir: Path, source: Source) -> None:
    answer = git(repo_dir, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=none")
    entries = _entries(answer)
    source.status_available = True
    source.dirty = bool(entries)
    source.status_entries = [f"{state} {path}" for state, path in entries[:_LISTED]]
    source.status_sha256 = hashlib.sha256(answer).hexdigest()
    source.tracked_diff_sha256 = _fingerprint(repo_dir, [path for state, path in entries if state != "??"])
    source.tracked_diff_available = True


def _entries(answer: bytes) -> list[tuple[str, str]]:
    """Split `git status -z`: a renamed entry is followed by its old name."""
    found = []
    fields = iter(answer.split(b"\0"))
    for field in fields:
        if not field:
            continue
        state = field[:2].decode("ascii", "replace")
        found.append((state, field[3:].decode("utf-8", "surrogateescape")))
        if state[0] in "RC":
            next(fields, None)
    return found


def _fingerprint(repo_dir: Path, paths: list[str]) -> str:
    lines = sorted(_file_line(repo_dir, path) for path in paths)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def _file_line(repo_dir: Path, path: str) -> bytes:
    file = repo_dir / path
    try:
        mode = file.lstat().st_mode
        if stat.S_ISREG(mode):
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        else:
            digest = "not-a-file"
    except OSError:
        mode, digest = 0, "absent"
    return f"{path} {mode:o} {digest}\n".encode("utf-8", "surrogateescape")
