"""A small real checkout to tamper with, and the table in which builders of situations say what the gate must answer."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import git

IGNORED = "__pycache__/\n*.so\n*.pyc\n/data/\n/.venv/\nlocal_*\n/build/\n"
FILES = {
    "VERSION": "6.75.0\n",
    ".gitignore": IGNORED,
    "server.py": "import pkg.core\n",
    "pkg/__init__.py": "",
    "pkg/core.py": "answer = 42\n",
    "space/plugin.py": "plugin = 1\n",
    "docs/guide.md": "Read me.\n",
}


@dataclass(frozen=True)
class Situation:
    """One state of a checkout and the reason that the gate must give; None where it must be clean."""

    build: Callable[[Path], Path | None]
    """Makes the state in a clean checkout; returns another directory to examine, where it is not this one."""
    reason: str | None
    fools_git: bool
    """Whether a plain `git status` calls the tampered checkout clean."""


LONG_AGO = 1_700_000_000
SITUATIONS: list[Situation] = []


def expecting(
    reason: str | None, *, fools_git: bool = False
) -> Callable[[Callable[[Path], Path | None]], Callable[[Path], Path | None]]:
    """Register a builder."""

    def register(build: Callable[[Path], Path | None]) -> Callable[[Path], Path | None]:
        SITUATIONS.append(Situation(build, reason, fools_git))
        return build

    return register


def make_repository(directory: Path, files: dict[str, str] = FILES) -> Path:
    """Return a clean checkout with one commit."""
    directory.mkdir(parents=True)
    git(directory, "init", "-q", "-b", "main")
    write(directory, files)
    commit(directory)
    return directory


def write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def commit(directory: Path, *options: str) -> str:
    """Commit everything; returns the new commit."""
    git(directory, "add", "--all")
    git(directory, "commit", "-q", "--allow-empty", "-m", "A step", *options)
    return git(directory, "rev-parse", "HEAD")


def plain_status(directory: Path) -> str:
    """What anybody's `git status` says, with the checkout's own configuration and the environment as they are."""
    environ = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    argv = ["git", "-C", str(directory), "status", "--porcelain"]
    return subprocess.run(argv, env=environ, capture_output=True, check=True, text=True, timeout=60).stdout


def program(file: Path, text: str) -> Path:
    """Write an executable shell script."""
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def make_old(path: Path) -> None:
    """Set a modification time long ago: git reads again what changed in the same second as its index."""
    os.utime(path, (LONG_AGO, LONG_AGO))


def edit_in_place(file: Path, text: str) -> None:
    """Change contents, but neither size nor modification time."""
    before = file.stat()
    assert len(text.encode()) == before.st_size
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
