"""What grades: the official package in some Python, its docker command, and its variables."""

import json
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from obo_bench.core.process import ask
from obo_bench.core.redact import is_secret_name
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World
from obo_bench.programbench.evaluation.evaluator_program import (
    CLI_VARIABLE,
    DOCKER_VARIABLE,
    PYTHON_VARIABLE,
    docker_client,
    preflight_evaluator,
)
from obo_bench.programbench.evaluation.evaluator_settings import check_numbers

_OURS = frozenset({PYTHON_VARIABLE, CLI_VARIABLE})
_OFFICIAL = frozenset(
    {
        DOCKER_VARIABLE,
        "PROGRAMBENCH_BLOB_DIR",
        "PROGRAMBENCH_DOCKER_CPUS",
        "PROGRAMBENCH_DOCKER_CP_TIMEOUT",
        "PROGRAMBENCH_DOCKER_ORG",
        "PROGRAMBENCH_DOCKER_RUN_TIMEOUT",
        "PROGRAMBENCH_HF_REPO",
        "PROGRAMBENCH_HF_REVISION",
    }
)
"""What the package reads (its `constants.py`)."""
_SHOWN = 100


def evaluator(world: World) -> Verdict:
    """Say which official evaluator would grade, after it was imported once."""
    give_up = time.monotonic() + world.ask_sec
    # Nothing is to change, not even a cache of compiled files beside the package.
    found = preflight_evaluator({**world.environ, "PYTHONDONTWRITEBYTECODE": "1"}, give_up=give_up)
    return ok(f"programbench {found.version} in Python {found.python_version} at {found.python}")


def docker_command(world: World) -> Verdict:
    """Say whether the evaluator's docker command reaches the same daemon as we do."""
    path = docker_client(world.environ)
    found = world.engine.need()
    try:
        environ = {**world.environ, "DOCKER_HOST": found.endpoint}
        done = ask([path, "info", "--format", "{{json .}}"], environ, world.ask_sec)
        said: Any = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, RecursionError, subprocess.TimeoutExpired) as error:
        return fail(f"{path} does not tell which engine it reaches: {error}", _remedy(world.environ))
    if not isinstance(said, dict):
        words = done.stderr[-300:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        return fail(f"{path} ended with status {done.returncode}: {words}", _remedy(world.environ))
    if said.get("ID") != found.server_id:
        return warn(
            f"{path} reaches another engine than the one that solves: their images can differ",
            f"unset {DOCKER_VARIABLE}, or name the docker command",
        )
    return ok(f"{path} reaches the same engine")


def variables(world: World) -> Verdict:
    """Say what the environment tells the evaluator, and which of it nobody reads."""
    found = {name: value for name, value in sorted(world.environ.items()) if name.startswith("PROGRAMBENCH_")}
    if not found:
        return ok("no PROGRAMBENCH_ variable is set: the official defaults hold")
    check_numbers(found)
    told = ", ".join(f"{name}={_shown(name, value)}" for name, value in found.items())
    unknown = [name for name in found if name not in _OFFICIAL | _OURS]
    if unknown:
        return warn(f"{told}; nobody reads {', '.join(unknown)}", "correct the name, or unset it")
    return ok(told)


def _shown(name: str, value: str) -> str:
    return "(set)" if is_secret_name(name) else value[:_SHOWN]


def _remedy(environ: Mapping[str, str]) -> str:
    if environ.get(DOCKER_VARIABLE):
        return f"correct {DOCKER_VARIABLE}, or unset it"
    return "install the docker command and make sure that `docker info` works"


def need_evaluator(statuses: Mapping[str, str]) -> None:
    """Raise CannotLook unless the engine and the evaluator were found fit."""
    unfit = [name for name in ("engine", "evaluator", "docker-command") if statuses.get(name) == "fail"]
    if unfit:
        raise CannotLook(f"it needs what failed above: {', '.join(unfit)}")
