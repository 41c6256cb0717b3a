"""Calls of the docker command, each with a deadline; the command is the one that the official evaluator uses."""

import os
from collections.abc import Sequence
from typing import IO

from obo_bench.core.refusals import PreflightRefused
from obo_bench.practice.bounded_process import Finished, run_bounded
from obo_bench.practice.setup_error import PracticeSetupError

QUICK = 30.0
"""Seconds for calls that only ask or tag."""
SLOW = 300.0
"""Seconds for calls that run, import or build something."""


def docker(*arguments: str, timeout: float = QUICK, stdin: bytes | IO[bytes] = b"") -> str:
    """Return what a docker call printed; raises PracticeSetupError with the engine's words when it fails."""
    done = docker_try(*arguments, timeout=timeout, stdin=stdin)
    if done.status != 0:
        raise PracticeSetupError(
            f"`docker {arguments[0]}` failed with status {done.status} ({done.complaint})",
            "check the engine (`docker info`) and its free disk space",
        )
    return done.stdout


def docker_try(*arguments: str, timeout: float = QUICK, stdin: bytes | IO[bytes] = b"") -> Finished:
    """Return how a docker call ended, whatever its status."""
    return run_bounded([executable(), *arguments], timeout=timeout, stdin=stdin)


def executable() -> str:
    """Return the name of the docker command."""
    return os.environ.get("PROGRAMBENCH_DOCKER_EXECUTABLE", "docker")


def engine_complaint() -> str:
    """Return why no engine answers, or an empty text when one does."""
    try:
        done = docker_try("version", "--format", "{{.Server.Version}}")
    except PracticeSetupError as error:
        return str(error)
    return "" if done.status == 0 else done.complaint


def remove_images(names: Sequence[str]) -> None:
    """Remove images that nothing needs any more; one that is still in use stays."""
    if names:
        docker_try("image", "rm", *names)


def require_engine() -> None:
    """Raise PreflightRefused when no engine answers."""
    if complaint := engine_complaint():
        raise PreflightRefused(
            "engine_unreachable", f"no container engine answers: {complaint}", evidence={"complaint": complaint}
        )
