"""Finds the official evaluator: which Python has it, which client of the engine it will call, what version it is.

The package asks for Python 3.11 (`typing.Self`), so it may be installed for another interpreter than ours:

* PROGRAMBENCH_PYTHON names the interpreter; no other one is tried then,
* else ours is asked, then the pythons on PATH, newest known to work first,
* PROGRAMBENCH_CLI is the command line to run instead (words as in a shell); the interpreter, which is then only asked
  what the package is, comes from PROGRAMBENCH_PYTHON or from the first line of that script.

The package that a child with the given environment imports is the one that counts (PYTHONPATH goes first).
"""

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.peek import peek
from obo_bench.core.process import ask
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why
from obo_bench.programbench.evaluation.evaluator_settings import check_numbers

DOCKER_VARIABLE = "PROGRAMBENCH_DOCKER_EXECUTABLE"
"""The official variable that names the engine's client."""
PYTHON_VARIABLE = "PROGRAMBENCH_PYTHON"
"""Names the interpreter that has the package."""
CLI_VARIABLE = "PROGRAMBENCH_CLI"
"""The official command line to run instead of the package in that interpreter."""

_OTHER_PYTHONS = ("python3.12", "python3.11", "python3.13", "python3.14", "python3")
_CHILD = Path(__file__).with_name("official_child.py")
_PROBE = (
    "import json, platform, sys\n"
    "from typing import Self\n"
    "import programbench, programbench.cli.main, programbench.constants as c\n"
    "print(json.dumps({'version': programbench.__version__, 'tasks_dir': str(c.TASKS_DIR),"
    " 'image_prefix': c.DOCKER_ORG, 'python': sys.executable, 'python_version': platform.python_version()}))"
)
_PROBE_TIMEOUT_SEC = 60.0
_FIRST_LINE = 512
_REMEDY = (
    "install programbench for Python 3.11 or newer, name that interpreter with PROGRAMBENCH_PYTHON, and have the "
    "docker command on PATH"
)


@dataclass(frozen=True)
class EvaluatorIdentity:
    """Which evaluator runs."""

    version: str
    """Version of the programbench package."""
    tasks_dir: Path
    """Its task directories."""
    image_prefix: str
    """What its images' names begin with."""
    docker: str
    """Absolute path of the engine's client."""
    python: str
    """The interpreter that has the package."""
    python_version: str
    """Its version."""
    command: tuple[str, ...]
    """What runs an official command, followed by the command's words."""

    def image_name(self, instance_id: str, tag: str) -> str:
        """Return the image that an instance is graded in, named as the package does."""
        return f"{self.image_prefix}/{instance_id.replace('__', '_1776_')}:{tag}"

    def tests(self, instance_id: str) -> dict[str, Any] | None:
        """Return the instance's tests.json, or None where the package has no such task."""
        task_dir = self.tasks_dir / instance_id
        return read_json_object(task_dir / "tests.json") if (task_dir / "task.yaml").is_file() else None

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {
            "programbench": self.version,
            "tasks_dir": str(self.tasks_dir),
            "python": self.python,
            "python_version": self.python_version,
            "command": list(self.command),
            "docker_client": self.docker,
        }


class _UnusableError(Exception):
    """An interpreter cannot run the package; the text says why."""


def find_evaluator(environ: Mapping[str, str], *, give_up: float = math.inf) -> EvaluatorIdentity:
    """Return the evaluator that `environ` leads to, after its package was imported once.

    `give_up` is a time of the monotonic clock after which no program is waited for any more. Raises PreflightRefused
    `evaluator_unavailable` naming what was tried.
    """
    check_numbers(environ)
    docker, words = docker_client(environ), _command_line(environ)
    tried: dict[str, str] = {}
    for python in _interpreters(environ, words):
        try:
            found = _asked(python, environ, give_up)
        except _UnusableError as error:
            tried[python] = str(error)
            continue
        runs = ("--command", *words) if words else ()
        return EvaluatorIdentity(
            version=str(found["version"]),
            tasks_dir=Path(str(found["tasks_dir"])),
            image_prefix=str(found["image_prefix"]),
            docker=docker,
            python=str(found["python"]),
            python_version=str(found["python_version"]),
            command=(sys.executable if words else python, "-P", str(_CHILD), *runs),
        )
    told = "; ".join(f"{python}: {why}" for python, why in tried.items())
    raise unavailable(f"no Python here can run the official evaluator ({told})", tried=tried)


def preflight_evaluator(environ: Mapping[str, str], *, give_up: float = math.inf) -> EvaluatorIdentity:
    """Prove that the evaluator starts with `environ` and that the engine's client runs; `give_up` as above.

    Raises PreflightRefused `evaluator_unavailable` with the program's own last words.
    """
    identity = find_evaluator(environ, give_up=give_up)
    _require([identity.docker, "--version"], environ, give_up)
    words = _command_line(environ)
    if words:
        _require([*words, "--help"], environ, give_up)
    return identity


def unavailable(message: str, **evidence: object) -> PreflightRefused:
    """Return the refusal to raise when the evaluator cannot run."""
    return PreflightRefused("evaluator_unavailable", message, evidence=evidence, remedy=_REMEDY)


def docker_client(environ: Mapping[str, str]) -> str:
    """Return the absolute path of the engine's client; raises PreflightRefused `evaluator_unavailable`."""
    name = environ.get(DOCKER_VARIABLE) or "docker"
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        raise unavailable(f"the docker client {name!r} is not an executable on PATH", path=environ.get("PATH"))
    return str(Path(found).absolute())


def _command_line(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of PROGRAMBENCH_CLI with the program's absolute path, empty when it is not set."""
    text = environ.get(CLI_VARIABLE, "").strip()
    if not text:
        return ()
    try:
        program, *words = shlex.split(text)
    except ValueError as error:
        raise unavailable(f"{CLI_VARIABLE} {text!r} is not a command line: {error}", value=text) from error
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        raise unavailable(f"{CLI_VARIABLE} {text!r}: {program!r} is not an executable file or on PATH", value=text)
    return (str(Path(found).absolute()), *words)


def _interpreters(environ: Mapping[str, str], words: tuple[str, ...]) -> list[str]:
    named = environ.get(PYTHON_VARIABLE)
    if named:
        return [_on_path(named, environ) or named]
    if words:
        return [_interpreter_of(Path(words[0]), environ)]
    found = [_on_path(name, environ) for name in _OTHER_PYTHONS]
    return list(dict.fromkeys([sys.executable, *filter(None, found)]))


def _interpreter_of(program: Path, environ: Mapping[str, str]) -> str:
    """Return the interpreter that a script or launcher runs in."""
    if program.name.startswith("python"):
        return str(program)
    try:
        first = peek(program, _FIRST_LINE).partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        first = ""
    parts = first.removeprefix("#!").split() if first.startswith("#!") else []
    if len(parts) > 1 and Path(parts[0]).name == "env":
        parts = parts[1:]
    if parts and Path(parts[0]).name.startswith("python"):
        return _on_path(parts[0], environ) or parts[0]
    raise unavailable(
        f"which programbench {CLI_VARIABLE} runs cannot be told from {str(program)!r}: name the interpreter that has "
        f"the package with {PYTHON_VARIABLE}",
        program=str(program),
    )


def _on_path(name: str, environ: Mapping[str, str]) -> str | None:
    found = shutil.which(name, path=environ.get("PATH"))
    return str(Path(found).absolute()) if found else None


def _asked(python: str, environ: Mapping[str, str], give_up: float) -> dict[str, Any]:
    """Import the package in an interpreter and return what it says of itself."""
    try:
        done = ask([python, "-P", "-c", _PROBE], environ, _patience(give_up))
        if done.returncode:
            raise _UnusableError(f"ended with status {done.returncode}: {_last_words(done.stderr)}")
        found = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _UnusableError(f"does not run: {why(error)}") from error
    except (ValueError, IndexError) as error:
        raise _UnusableError(f"gave no answer: {done.stdout[-200:]!r}") from error
    return dict(found)


def _require(argv: list[str], environ: Mapping[str, str], give_up: float) -> None:
    try:
        done = ask(argv, environ, _patience(give_up))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise unavailable(f"{argv[0]} does not run: {why(error)}", argv=argv) from error
    if done.returncode:
        raise unavailable(
            f"{argv[0]} ended with status {done.returncode}: {_last_words(done.stderr)}",
            argv=argv,
            status=done.returncode,
        )


def _patience(give_up: float) -> float:
    return min(_PROBE_TIMEOUT_SEC, max(0.0, give_up - time.monotonic()))


def _last_words(stderr: bytes) -> str:
    return os.fsdecode(stderr[-500:]).strip().rpartition("\n")[2]
