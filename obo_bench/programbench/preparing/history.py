"""The git repository that the server wants a workspace to be: made in one step, or completed without running it.

An existing repository may be the work of an agent, whose configuration could name programs for git to run. So no
command that reads the work tree is ever run with it.
"""

import os
import shutil
import stat
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from obo_bench.core.git import GitUnavailable, ask_git, check, git
from obo_bench.core.why import why
from obo_bench.programbench.packaging.collection_rules import GIT_NAME
from obo_bench.programbench.preparing.foreign_directory import held_directory, read_file, replace_file
from obo_bench.programbench.preparing.preparation import Blocked
from obo_bench.programbench.preparing.reference import FAILED
from obo_bench.programbench.solving.workspace import PROVIDED, REFERENCE

PARTIAL = ".obo-bench-git"
"""The repository while it is made; what a killed invocation leaves of it is made afresh."""
_LARGEST = 1 << 20
"""Bytes of a file of a repository's settings that are read."""
_IDENTITY = {"user.name": "agent", "user.email": "agent@localhost"}
_IGNORED = (f"/{REFERENCE}", f"/{PROVIDED}")
# Another owner is no danger to commands that run nothing of the repository.
_ANY_OWNER = ("-c", "safe.directory=*")


def settle_history(workspace: Path) -> str:
    """Make sure that the workspace is a git repository with a commit and an identity; returns `made` or `kept`.

    Raises Blocked `workspace_prepare_failed`, and OSError.
    """
    place = workspace / GIT_NAME
    _clear(workspace / PARTIAL)
    try:
        if not place.is_symlink() and not place.exists():
            _make(workspace)
            return "made"
        _complete(workspace, place)
    except GitUnavailable as error:
        raise Blocked(FAILED, f"{str(workspace)!r} cannot be made a git repository: {error}") from error
    return "kept"


def _clear(partial: Path) -> None:
    """Remove what has the name, whatever it is: git would go through a link, to wherever an agent has let it lead."""
    if partial.is_dir() and not partial.is_symlink():
        shutil.rmtree(partial)
    else:
        partial.unlink(missing_ok=True)


def _make(workspace: Path) -> None:
    """Commit the tree as it is into a repository beside `.git`, which gets its name only when it is complete."""
    partial = workspace / PARTIAL
    partial.mkdir()
    git(workspace, "init", "-q", "--bare", "-b", "main", PARTIAL)
    config = partial / "config"
    for name, value in {"core.bare": "false", **_IDENTITY}.items():
        git(workspace, "config", "--file", str(config), name, value)
    exclude = partial / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("".join(f"{line}\n" for line in (*_IGNORED, f"/{PARTIAL}/")), "utf-8")
    here = ("--git-dir", str(partial), "--work-tree", str(workspace), "-c", "diff.ignoreSubmodules=all")
    git(workspace, *here, "add", "--all")
    git(workspace, *here, "commit", "-q", "--no-verify", "--allow-empty", "-m", "Workspace as prepared")
    exclude.write_text("".join(f"{line}\n" for line in _IGNORED), "utf-8")
    partial.rename(workspace / GIT_NAME)


def _complete(workspace: Path, place: Path) -> None:
    if not stat.S_ISDIR(place.lstat().st_mode):
        raise Blocked(FAILED, f"{str(place)!r} is no directory: move it away, so that a repository can be made here")
    found = ask_git(workspace, [[*_ANY_OWNER, "--git-dir", str(place), "rev-parse", "--verify", "-q", "HEAD^{commit}"]])
    if found[0].status != 0:
        raise Blocked(
            FAILED, f"the git repository in {str(workspace)!r} has no commit: commit there, or move {GIT_NAME!r} away"
        )
    with held_directory(place) as git_directory:
        _complete_identity(workspace, git_directory)
        _complete_exclude(git_directory)


def _complete_identity(workspace: Path, git_directory: int) -> None:
    """Let git work on a copy: it would write to wherever a link leads that has meanwhile come into the file's place."""
    try:
        before = read_file(git_directory, "config", _LARGEST)
    except OSError as error:
        raise Blocked(
            FAILED, f"{str(workspace / GIT_NAME / 'config')!r} is no regular file of a usual size: {why(error)}"
        ) from error
    with tempfile.TemporaryDirectory() as private:
        config = Path(private, "config")
        config.write_bytes(before)
        for name, value in _IDENTITY.items():
            if ask_git(config.parent, [["config", "--file", str(config), "--get", name]])[0].status != 0:
                check(ask_git(config.parent, [["config", "--file", str(config), name, value]])[0])
        after = config.read_bytes()
    if after != before:
        replace_file(git_directory, "config", after)


def _complete_exclude(git_directory: int) -> None:
    """Keep the reference out of the agent's own commits, where the repository lets it be said."""
    with suppress(FileExistsError):
        os.mkdir("info", dir_fd=git_directory)
    with ExitStack() as stack:
        try:
            info = stack.enter_context(held_directory("info", git_directory))
            before = _exclude(info)
        except OSError:
            return
        missing = [line for line in _IGNORED if line.encode() not in before.splitlines()]
        if missing:
            start = before if not before or before.endswith(b"\n") else before + b"\n"
            replace_file(info, "exclude", start + "".join(f"{line}\n" for line in missing).encode())


def _exclude(info: int) -> bytes:
    try:
        return read_file(info, "exclude", _LARGEST)
    except FileNotFoundError:
        return b""
