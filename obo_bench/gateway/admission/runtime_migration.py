"""Model names by the checkout's own `migrate_model_value`, run in its own interpreter; else by our table.

The child process has a deadline, a process group, a scratch directory as home and working directory, no secret in its
environment, bounded output, and may write nothing outside of the scratch directory.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from obo_bench.gateway.admission import migration_child
from obo_bench.gateway.admission.model_slots import migrate_model_value

DEADLINE_SEC = 20.0
"""Importing the runtime's module takes a second or two."""
SEARCH_SEC = 10.0
"""The walk through the checkout."""
LARGEST_MODULE = 4 * 1024 * 1024
"""Bytes; no module that a person wrote is larger."""
_INTERPRETERS = (".venv/bin/python", "venv/bin/python")
_DEFINITION = re.compile(rb"^def migrate_model_value\(", re.MULTILINE)
_SKIPPED = frozenset({"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "test", "tests", "venv"})


class MigrationUnavailable(RuntimeError):
    """The checkout's own function could not be asked; the message says why."""


@dataclass(frozen=True)
class CheckedWith:
    """Which rules the model names were checked with (a part of the manifest)."""

    rules: Literal["checkout", "table"]
    """The checkout's own function, or our table."""
    why: str
    """Why it was the table; empty for the checkout's."""
    module: str | None = None
    """The module that defines the function."""
    interpreter: str | None = None
    """The interpreter that ran it."""

    def document(self) -> dict[str, Any]:
        """Return the record as it is written."""
        return {"with": self.rules, "module": self.module, "interpreter": self.interpreter, "why": self.why}


class ModelNames:
    """Normalises model names, with one and the same set of rules for an invocation."""

    def __init__(self, repo_dir: Path, version: str | None = None) -> None:
        """Prepare for the checkout `repo_dir` of `version`; nothing is searched or run before a name is asked for."""
        self._repo_dir = repo_dir
        self._version = version
        self.checked_with = CheckedWith("table", "no provider is asked directly: no name is rewritten")
        """What was used so far."""
        self._failed = False

    def normalize(self, provider: str, names: Sequence[str]) -> Mapping[str, str]:
        """Return the canonical form of each name; never raises, falls back to the table."""
        if not self._failed:
            try:
                return self._ask_checkout(provider, names)
            except MigrationUnavailable as error:
                self._failed = True
                self.checked_with = CheckedWith("table", str(error))
        return {name: migrate_model_value(provider, name, version=self._version) for name in names}

    def _ask_checkout(self, provider: str, names: Sequence[str]) -> Mapping[str, str]:
        interpreter = find_interpreter(self._repo_dir)
        module = find_module(self._repo_dir)
        answers = ask_checkout(self._repo_dir, interpreter, module, [(provider, name) for name in names])
        self.checked_with = CheckedWith("checkout", "", module, str(interpreter))
        return dict(zip(names, answers, strict=True))


def find_interpreter(repo_dir: Path) -> Path:
    """Return the checkout's own interpreter; raises MigrationUnavailable when it has none."""
    for name in _INTERPRETERS:
        found = repo_dir.absolute() / name
        if os.access(found, os.X_OK) and found.is_file():
            return found
    raise MigrationUnavailable(f"the checkout has no interpreter of its own ({' or '.join(_INTERPRETERS)})")


def find_module(repo_dir: Path) -> str:
    """Return the dotted name of the one module that defines the function; raises MigrationUnavailable."""
    found = [path.relative_to(repo_dir) for path in _modules(repo_dir) if _defines(path)]
    if len(found) != 1:
        where = ", ".join(map(str, sorted(found)[:5])) or "no module"
        raise MigrationUnavailable(f"not exactly one module of the checkout defines migrate_model_value: {where}")
    parts = found[0].with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if not parts or not all(part.isidentifier() for part in parts):
        raise MigrationUnavailable(f"{str(found[0])!r} cannot be imported by its path")
    return ".".join(parts)


def ask_checkout(repo_dir: Path, interpreter: Path, module: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the function's answer to each (provider, name), all in one child; raises MigrationUnavailable."""
    with tempfile.TemporaryDirectory(prefix="obo-bench-names-") as scratch, contextlib.ExitStack() as files:
        request, answer, complaints = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        asked = {"repo_dir": str(repo_dir.absolute()), "module": module, "scratch": scratch, "pairs": pairs}
        request.write(json.dumps(asked).encode())
        request.seek(0)
        status = _run(interpreter, scratch, request, answer, complaints)
        if status != 0:
            raise MigrationUnavailable(f"{module} ended with status {status}: {_last_line(complaints)}")
        return _answers(answer, len(pairs), module)


def _run(interpreter: Path, scratch: str, request: IO[bytes], answer: IO[bytes], complaints: IO[bytes]) -> int:
    try:
        child = subprocess.Popen(
            # -I -B: no environment, no user packages, no directory of ours on the path, no compiled file written.
            [str(interpreter), "-I", "-B", migration_child.__file__],
            stdin=request,
            stdout=answer,
            stderr=complaints,
            cwd=scratch,
            env=_environment(scratch),
            start_new_session=True,
        )
    except OSError as error:
        raise MigrationUnavailable(f"{str(interpreter)!r} cannot be started: {error.strerror}") from error
    try:
        return child.wait(DEADLINE_SEC)
    except subprocess.TimeoutExpired as error:
        raise MigrationUnavailable(f"no answer within {DEADLINE_SEC:g} s") from error
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _environment(scratch: str) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": scratch, "TMPDIR": scratch, "LC_ALL": "C.UTF-8"}


def _answers(answer: IO[bytes], count: int, module: str) -> list[str]:
    answer.seek(0)
    try:
        value = json.loads(answer.read(migration_child.ANSWER_LIMIT))
    except (ValueError, RecursionError) as error:
        raise MigrationUnavailable(f"{module} did not answer with JSON") from error
    if not isinstance(value, list) or len(value) != count or not all(isinstance(item, str) for item in value):
        raise MigrationUnavailable(f"{module} did not answer with {count} names")
    return value


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read(migration_child.ANSWER_LIMIT).decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"


def _modules(repo_dir: Path) -> Iterator[Path]:
    """Walk the checkout's own modules: no links, nothing hidden, no environment, no tests."""
    give_up = time.monotonic() + SEARCH_SEC
    for directory, below, files in os.walk(repo_dir):
        if time.monotonic() > give_up:
            raise MigrationUnavailable(f"the checkout could not be searched within {SEARCH_SEC:g} s")
        if "pyvenv.cfg" in files:
            below.clear()
            continue
        below[:] = [name for name in below if _is_own(name)]
        yield from (Path(directory, name) for name in files if name.endswith(".py"))


def _is_own(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED


def _defines(path: Path) -> bool:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_MODULE:
            return False
        return bool(_DEFINITION.search(path.read_bytes()))
    except OSError:
        return False
