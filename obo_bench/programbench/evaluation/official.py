"""The installed official package as a program: where it is, whether it can run, and how it is started and ended.

The package that a child with the given environment would import is the one that counts (PYTHONPATH goes first).
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from obo_bench.core.process import ask
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.evaluation.official_child import PARENT_FD_VARIABLE

DOCKER_VARIABLE = "PROGRAMBENCH_DOCKER_EXECUTABLE"
"""The official variable that names the docker client."""

_CHILD = Path(__file__).with_name("official_child.py")
_PROBE = (
    "import json, programbench, programbench.cli.main, programbench.constants as c\n"
    "print(json.dumps([programbench.__version__, str(c.TASKS_DIR)]))"
)
_PROBE_TIMEOUT_SEC = 60.0
_TERM_GRACE_SEC = 10.0
_TICK_SEC = 1.0


@dataclass(frozen=True)
class EvaluatorIdentity:
    """Which evaluator runs."""

    version: str
    """Version of the programbench package."""
    tasks_dir: Path
    """Its task directories."""
    docker: str
    """Absolute path of the docker client."""


@dataclass(frozen=True)
class ProcessEnd:
    """How a supervised official command ended."""

    returncode: int
    """Exit status; negative: the signal."""
    timed_out: bool
    """We ended it at its time limit."""


def official_argv(*arguments: str) -> list[str]:
    """Return the command that runs `programbench ARGUMENTS` in this interpreter's environment."""
    return [sys.executable, "-P", str(_CHILD), *arguments]


def identify_evaluator(environ: Mapping[str, str]) -> EvaluatorIdentity:
    """Find the package and the docker client without starting anything.

    Raises PreflightRefused `evaluator_unavailable`.
    """
    overlay = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    spec = PathFinder.find_spec("programbench", [*overlay, *sys.path])
    if spec is None or spec.origin is None:
        raise _unavailable(f"{sys.executable} cannot import programbench", search_path=[*overlay, *sys.path])
    try:
        version = metadata.version("programbench")
    except metadata.PackageNotFoundError as error:
        raise _unavailable(f"{sys.executable} has no programbench installed", package=spec.origin) from error
    return EvaluatorIdentity(version, Path(spec.origin).resolve().parent / "data" / "tasks", _docker_client(environ))


def _docker_client(environ: Mapping[str, str]) -> str:
    name = environ.get(DOCKER_VARIABLE) or "docker"
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        raise _unavailable(f"the docker client {name!r} is not an executable on PATH", path=environ.get("PATH"))
    return str(Path(found).absolute())


def _unavailable(message: str, **evidence: object) -> PreflightRefused:
    return PreflightRefused("evaluator_unavailable", message, evidence=evidence)


def preflight_evaluator(environ: Mapping[str, str]) -> EvaluatorIdentity:
    """Prove that the evaluator starts with `environ` and that the docker client runs.

    Raises PreflightRefused `evaluator_unavailable` with the program's own last words.
    """
    identity = identify_evaluator(environ)
    answer = _probe([sys.executable, "-P", "-c", _PROBE], environ)
    _probe([identity.docker, "--version"], environ)
    version, tasks_dir = json.loads(answer)
    return EvaluatorIdentity(version, Path(tasks_dir), identity.docker)


def _probe(argv: list[str], environ: Mapping[str, str]) -> bytes:
    try:
        done = ask(argv, environ, _PROBE_TIMEOUT_SEC)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(f"{argv[0]} does not run: {error}", argv=argv) from error
    if done.returncode:
        words = done.stderr[-500:].decode("utf-8", "replace").strip()
        raise _unavailable(f"{argv[0]} ended with status {done.returncode}: {words}", argv=argv, status=done.returncode)
    return done.stdout


def run_official(
    argv: list[str],
    environ: Mapping[str, str],
    logs: tuple[Path, Path],
    timeout_sec: float,
    tick: Callable[[], None],
) -> ProcessEnd:
    """Run an official command in a session of its own, its output going to the two `logs`.

    `tick` is called about once a second. At the time limit, and on any exception that passes through (Ctrl-C, a
    signal), the whole process group is ended: SIGTERM, then SIGKILL; never SIGINT, on which the evaluator records
    false failures. Raises OSError when it cannot be started.
    """
    reader, writer = os.pipe()
    try:
        with logs[0].open("wb") as stdout, logs[1].open("wb") as stderr:
            process = subprocess.Popen(
                argv,
                env={**environ, PARENT_FD_VARIABLE: str(reader)},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(reader,),
                start_new_session=True,
            )
        return _await(process, timeout_sec, tick)
    finally:
        os.close(reader)
        os.close(writer)


def _await(process: "subprocess.Popen[bytes]", timeout_sec: float, tick: Callable[[], None]) -> ProcessEnd:
    deadline = time.monotonic() + timeout_sec
    try:
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return ProcessEnd(process.wait(min(left, _TICK_SEC)), timed_out=False)
            tick()
    except BaseException:
        _end_group(process)
        raise
    _end_group(process)
    return ProcessEnd(process.wait(), timed_out=True)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the leader, then whatever it left in its group."""
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_TERM_GRACE_SEC)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
