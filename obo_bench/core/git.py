"""Ask git about a checkout without letting the environment or any configuration change the answer."""

import os
from collections.abc import Sequence
from pathlib import Path

from obo_bench.core.gather import Answer, gather

TIMEOUT_SEC = 60.0
"""No question to git may take longer; an unanswered one is an unknown, never a clean bill."""

Setting = tuple[str, str]
"""Name and value of one item of git's configuration."""

_NEUTRAL: Sequence[Setting] = (
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.commitGraph", "false"),
    ("core.excludesFile", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.hooksPath", os.devnull),
    ("core.ignoreStat", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.fileMode", "true"),
    ("core.symlinks", "true"),
    ("core.ignoreCase", "false"),
    ("core.autocrlf", "false"),
    ("core.quotePath", "false"),
    ("core.warnAmbiguousRefs", "false"),
    # The empty list of grafts below is no news.
    ("advice.graftFileDeprecated", "false"),
)
_NEUTRAL_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    # A partial clone would fetch what it misses; no protocol is called "none", so nothing is ever asked of a network.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}


class GitUnavailable(RuntimeError):
    """git is missing, too slow, or refused the question; the message is its own."""


def plain_environment() -> dict[str, str]:
    """Return the environment without any variable that means something to git."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def clean_environment(settings: Sequence[Setting] = ()) -> dict[str, str]:
    """Return an environment in which nothing redirects or reconfigures git, but for our own `settings`."""
    environ = plain_environment() | _NEUTRAL_ENVIRONMENT
    # Settings travel in the environment because a name there may hold any character, which `-c` does not allow.
    everything = [*_NEUTRAL, *settings]
    environ["GIT_CONFIG_COUNT"] = str(len(everything))
    for at, (name, value) in enumerate(everything):
        environ[f"GIT_CONFIG_KEY_{at}"], environ[f"GIT_CONFIG_VALUE_{at}"] = name, value
    return environ


def ask_git(
    directory: Path,
    questions: Sequence[Sequence[str]],
    *,
    timeout: float = TIMEOUT_SEC,
    environ: dict[str, str] | None = None,
) -> list[Answer]:
    """Ask git all `questions` at once in `directory`; raises GitUnavailable when one is not answered at all."""
    argvs = [["git", "--no-pager", "-C", str(directory), *question] for question in questions]
    try:
        return gather(argvs, clean_environment() if environ is None else environ, timeout)
    except TimeoutError as error:
        asked = " and ".join(f"`git {question[0]}`" for question in questions)
        raise GitUnavailable(f"{asked} gave no answer within {timeout:g} s") from error
    except (OSError, ValueError) as error:
        raise GitUnavailable(str(error)) from error


def check(answer: Answer) -> bytes:
    """Return the output of a git that succeeded; raises GitUnavailable with its own words otherwise."""
    if answer.status != 0:
        raise GitUnavailable(answer.complaint or f"git ended with {answer.status}")
    return answer.output


def git(repo_dir: Path, *arguments: str, timeout: float = TIMEOUT_SEC) -> bytes:
    """Return what git prints for `arguments` in `repo_dir`; raises GitUnavailable on any failure."""
    return check(ask_git(repo_dir, [arguments], timeout=timeout)[0])
