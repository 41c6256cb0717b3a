"""The environment variable of every option, derived from the option itself: --max-cost-usd is OBO_BENCH_MAX_COST_USD.

A flag wins over a variable, a variable over the default; an empty variable counts as not set. One that could be several
values is taken apart at its line ends, or, where it has a single line, at its commas.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from obo_bench.cli.parsing import Command, Parameter, below
from obo_bench.core.variables import PREFIX, is_option_variable

HISTORICAL = {
    "--docker-cpus": "PROGRAMBENCH_DOCKER_CPUS",
    "--repo-dir": "OUROBOROS_REPO_DIR",
    "--runs-root": "OUROBOROS_BENCH_RUNS_ROOT",
    "--settings-path": "OUROBOROS_SETTINGS_PATH",
}
"""Names that options had in the environment before; ours wins, because other programs read these too."""


@dataclass(frozen=True)
class Found:
    """A variable that is set."""

    name: str
    """Its name."""
    value: str
    """Its value, never empty."""


def flag_of(parameter: Parameter) -> str | None:
    """Return the long flag of an option that a variable can set; None for arguments, and for options such as --help."""
    if parameter.param_type_name != "option" or parameter.is_eager or not parameter.expose_value:
        return None
    return next((flag for flag in parameter.opts if flag.startswith("--")), None)


def names(flag: str) -> tuple[str, ...]:
    """Return the variables of an option, the one that wins first."""
    ours = PREFIX + flag.removeprefix("--").replace("-", "_").upper()
    return (ours, HISTORICAL[flag]) if flag in HISTORICAL else (ours,)


def meaning(flag: str) -> str:
    """Return what help says of the environment, with an option of the command as example."""
    return f"Environment: each option has a variable, {flag} has {names(flag)[0]}; a flag wins over it."


def settings(flag: str, environ: Mapping[str, str] = os.environ) -> list[Found]:
    """Return the variables of an option that are set, the one that wins first."""
    return [Found(name, environ[name]) for name in names(flag) if environ.get(name)]


def value_of(flag: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return what the environment says for an option, for commands that do not have it; None when it says nothing."""
    found = settings(flag, environ)
    return found[0].value if found else None


def is_on(flag: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether the environment turns a flag on, for what must be known although the arguments cannot be parsed."""
    return (value_of(flag, environ) or "").strip().lower() in {"1", "true", "t", "yes", "y", "on"}


def defaults(command: Command, words: frozenset[str]) -> dict[str, Any]:
    """Return what the environment says for a command and those below it, as the parser takes defaults.

    `words` are those of the command line: where a command and one below it both have options, only one of them is run.
    """
    others = below(command)
    own = {} if words & set(others) else _own(command)
    return own | {name: defaults(each, words) for name, each in others.items()}


def options(command: Command) -> Iterator[tuple[str, Parameter]]:
    """Yield the flag and the parameter of every option that a variable can set."""
    for parameter in command.params:
        if (flag := flag_of(parameter)) is not None:
            yield flag, parameter


def strangers(command: Command, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables that are meant for an option, but for none that there is in the command or below it."""
    known = {name for flag in _all_flags(command) for name in names(flag)}
    return sorted(name for name in environ if is_option_variable(name) and name not in known)


def _own(command: Command) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for flag, parameter in options(command):
        value = value_of(flag)
        if value is not None:
            found[parameter.name] = _several(value) if parameter.multiple else value
    return found


def _several(value: str) -> list[str] | None:
    parts = value.splitlines() if "\n" in value.strip() else value.split(",")
    return [stripped for part in parts if (stripped := part.strip())] or None


def _all_flags(command: Command) -> Iterator[str]:
    for flag, _ in options(command):
        yield flag
    for each in below(command).values():
        yield from _all_flags(each)
