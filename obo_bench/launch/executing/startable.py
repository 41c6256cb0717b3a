"""Whether a command can be started: asked before, so that nothing is started where it cannot."""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from obo_bench.core.files import open_regular
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why

_LONGEST_SHEBANG = 256
"""Bytes of the first line that the kernel looks at."""
_SYSTEM_SAYS: Mapping[int, str] = {
    errno.ENOEXEC: "it is no program of this machine, or a script without #!",
    errno.ETXTBSY: "it is open for writing: wait until it is whole, or end what writes it",
}
"""What the system's own words leave to be guessed."""


def current_directory() -> Path:
    """Return where the launcher will run; raises PreflightRefused `launcher_not_startable` when that is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise PreflightRefused(
            "launcher_not_startable",
            f"the current directory cannot be used: {error.strerror}",
            evidence={"why": str(error)},
            remedy="change to a directory that exists",
        ) from error


def require_startable(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Path:
    """Return the program that would be run; raises PreflightRefused `launcher_not_startable`."""
    word = command[0]
    found = str(cwd / word) if os.sep in word else shutil.which(word, os.F_OK, environ.get("PATH"))
    if found is None:
        raise not_startable(word, "no directory of PATH has such a program")
    program = Path(found)
    if why := _trouble(program):
        raise not_startable(word, why)
    return program


def not_startable(word: str, why: str) -> PreflightRefused:
    """Return the refusal of a command that the system does not start."""
    return PreflightRefused(
        "launcher_not_startable",
        f"the command {word[:200]!r} cannot be started: {why}",
        evidence={"command": word, "why": why},
    )


def not_started(word: str, error: OSError) -> PreflightRefused:
    """Return the refusal of a command that the system was asked to start, and did not."""
    return not_startable(word, _SYSTEM_SAYS.get(error.errno or 0) or error.strerror or str(error))


def _trouble(program: Path) -> str:
    try:
        if program.is_dir():
            return "it is a directory"
        if not program.exists():
            return "there is no such file"
        if not os.access(program, os.X_OK):
            return "it is not executable"
        return _interpreter_trouble(program)
    except (OSError, ValueError) as error:
        return why(error)


def _interpreter_trouble(program: Path) -> str:
    if not os.access(program, os.R_OK):
        return ""
    with open_regular(program) as stream:
        line = stream.read(_LONGEST_SHEBANG).partition(b"\n")[0]
    words = line.removeprefix(b"#!").split() if line.startswith(b"#!") else []
    if words and not os.access(words[0], os.X_OK):
        return f"its interpreter {os.fsdecode(words[0])!r} is not there or cannot be run (does its line end in CR?)"
    return ""
