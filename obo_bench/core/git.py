"""Ask git about a checkout without letting the environment or any configuration change the answer."""

import os
import subprocess
from pathlib import Path

from obo_bench.core.process import ask

TIMEOUT_SEC = 60.0
"""No question to git may take longer; an unanswered one is an unknown, never a clean bill."""

_NEUTRAL = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.excludesFile=/dev/null",
    "core.ignoreStat=false",
    "core.fileMode=true",
    "core.quotePath=false",
)


class GitUnavailable(RuntimeError):
    """git is missing, too slow, or refused the question; the message is its own."""


def clean_environment() -> dict[str, str]:
    """Return the environment without anything that redirects or reconfigures git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def git(repo_dir: Path, *arguments: str, timeout: float = TIMEOUT_SEC) -> bytes:
    """Return what git prints for `arguments` in `repo_dir`; raises GitUnavailable on any failure."""
    settings = [part for setting in _NEUTRAL for part in ("-c", setting)]
    try:
        done = ask(["git", *settings, "-C", str(repo_dir), *arguments], clean_environment(), timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitUnavailable(str(error)) from error
    if done.returncode != 0:
        raise GitUnavailable(done.stderr.decode("utf-8", "replace").strip() or f"git ended with {done.returncode}")
    return done.stdout
