"""Where the value of each option comes from, and what to tell about those that come from the environment."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from obo_bench.cli import variables
from obo_bench.cli.parsing import Context, Parameter, is_flag
from obo_bench.core.refusals import UsageError

FROM_SETTINGS = frozenset({"solve_model"})
"""Values that the server's settings decide where neither the operator nor the environment does."""
EXPLAIN = "--explain"
_LONGEST = 200


def key(parameter: Parameter) -> str:
    """Return the name of an option or argument in documents: `max_cost_usd` for --max-cost-usd."""
    flag = variables.flag_of(parameter)
    return str(flag.removeprefix("--").replace("-", "_") if flag else parameter.name)


def origins(context: Context) -> dict[str, str]:
    """Return by option and argument where its value comes from."""
    return {key(parameter): _origin(context, parameter) for parameter in shown(context)}


def shown(context: Context) -> Iterator[Parameter]:
    """Yield the options and arguments of a command that say what it does."""
    for parameter in context.command.params:
        if parameter.param_type_name == "argument" or (variables.flag_of(parameter) or EXPLAIN) != EXPLAIN:
            yield parameter


def from_environment(context: Context) -> dict[str, list[variables.Found]]:
    """Return by flag the variables that are set, for options that they decide."""
    return {
        flag: variables.settings(flag)
        for flag, parameter in variables.options(context.command)
        if _source(context, parameter) == "DEFAULT_MAP"
    }


def conflicts(context: Context) -> Iterator[str]:
    """Yield what to tell of options whose variables say different things."""
    for flag, found in from_environment(context).items():
        for other in found[1:]:
            if other.value != found[0].value:
                yield f"{flag}: {found[0].name} and {other.name} are set to different values; {found[0].name} counts"


def mistaken_variable(error: typer.BadParameter) -> UsageError | None:
    """Return the usage error for a value that came from a variable; None when it did not."""
    context: Any = error.ctx
    parameter: Any = error.param
    flag = variables.flag_of(parameter) if parameter is not None else None
    if context is None or flag is None or _source(context, parameter) != "DEFAULT_MAP":
        return None
    [found, *_] = variables.settings(flag)
    why = "write 1, true or yes, or 0, false or no" if is_flag(parameter) else str(error.message).rstrip(".")
    return UsageError(
        f"the environment variable {found.name} is {found.value[:_LONGEST]!r}, which {flag} does not take: {why}; "
        f"correct it, unset it, or give {flag}"
    )


def with_variable(error: UsageError, decided: Mapping[str, list[variables.Found]]) -> UsageError:
    """Return the error with the variables that the options it names were set by, where there are any."""
    words = set(str(error).replace(":", " ").replace(",", " ").split())
    named = [
        f"{flag} is set by the environment variable {found[0].name}" for flag, found in decided.items() if flag in words
    ]
    return UsageError(f"{error} ({'; '.join(named)}: correct or unset it)") if named else error


def _origin(context: Context, parameter: Parameter) -> str:
    source, flag = _source(context, parameter), variables.flag_of(parameter)
    if source == "COMMANDLINE":
        return "flag" if flag else "argument"
    if source == "DEFAULT_MAP" and flag:
        return f"environment {variables.settings(flag)[0].name}"
    return "settings" if parameter.name in FROM_SETTINGS else "default"


def _source(context: Context, parameter: Parameter) -> str:
    source = context.get_parameter_source(parameter.name)
    return source.name if source is not None else ""
