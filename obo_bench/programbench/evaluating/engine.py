"""The engine that grades: Docker as everywhere else, or the one of a client that the operator has named."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.process import ask
from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.daemon import connect_engine
from obo_bench.programbench.context import evaluator_environment
from obo_bench.programbench.evaluation.evaluator_program import DOCKER_VARIABLE

_ASK_SEC = 60.0


@dataclass(frozen=True)
class EvaluationEngine:
    """Where containers of the evaluation run."""

    environ: Mapping[str, str]
    """The evaluator's environment."""
    cpus: int
    """Cores the engine has."""
    facts: Mapping[str, Any]
    """What the manifest says of it."""


def find_engine(environ: Mapping[str, str]) -> EvaluationEngine:
    """Return the engine that the evaluator will use; raises PreflightRefused `engine_unreachable`.

    A client other than `docker` (PROGRAMBENCH_DOCKER_EXECUTABLE, such as podman) is asked itself.
    """
    client = environ.get(DOCKER_VARIABLE, "")
    if client and Path(client).name != "docker":
        return _engine_of(client, environ)
    engine = connect_engine(environ)
    try:
        return EvaluationEngine(evaluator_environment(engine, environ), engine.cpus, engine.facts())
    finally:
        engine.close()


def _engine_of(client: str, environ: Mapping[str, str]) -> EvaluationEngine:
    """Ask a client; source: the answers of `docker info` and `podman info` as JSON."""
    path = shutil.which(client, path=environ.get("PATH")) or client
    try:
        done = ask([path, "info", "--format", "{{json .}}"], environ, _ASK_SEC)
        found: Any = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, RecursionError) as error:
        raise _unreachable(client, str(error)) from error
    if not isinstance(found, dict):
        raise _unreachable(client, done.stderr[-300:].decode("utf-8", "replace").strip())
    host = found.get("host")
    cpus = found.get("NCPU") or (host.get("cpus") if isinstance(host, dict) else None)
    known = cpus if isinstance(cpus, int) and cpus > 0 else os.cpu_count() or 1
    return EvaluationEngine(dict(environ), known, {"client": path, "cpus": known})


def _unreachable(client: str, why: str) -> PreflightRefused:
    return PreflightRefused(
        "engine_unreachable",
        f"the engine of {DOCKER_VARIABLE} {client!r} does not answer: {why}",
        evidence={"client": client, "why": why},
    )
