"""What the server asks git about a workspace; every call has a time limit and ignores the caller's GIT_ variables."""

import os
import subprocess
from pathlib import Path
from typing import BinaryIO

GIT_TIMEOUT_SEC = 20.0
"""The longest that one git command may take, in seconds."""


def run_git(root: Path, *arguments: str, stdout: BinaryIO | int = subprocess.PIPE) -> tuple[int, str]:
    """Run git in `root`; return its status and its output as text. Status 124 means that it took too long."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        ended = subprocess.run(
            ["git", "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL,
            env=environment, timeout=GIT_TIMEOUT_SEC, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, ""
    return ended.returncode, (ended.stdout or b"").decode("utf-8", "surrogateescape")


def worktree_root(path: Path) -> Path | None:
    """Return the top of the work tree that `path` lies in, or None when git does not know one."""
    status, output = run_git(path, "rev-parse", "--show-toplevel")
    top = output.removesuffix("\n")
    return Path(top).resolve() if status == 0 and top else None


def head_state(root: Path) -> dict[str, object]:
    """Return head, branch and the number of changed entries, as the record's preflight shows them."""
    _, head = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    _, branch = run_git(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    _, changes = run_git(root, "status", "--porcelain=v1")
    count = len(changes.splitlines())
    return {"head": head.strip(), "branch": branch.strip(), "dirty": count > 0, "status_count": count}
