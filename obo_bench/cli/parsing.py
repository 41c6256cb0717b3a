"""The parser's objects as far as we look at them: its own types are private and differ between its versions."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Protocol


class Parameter(Protocol):
    """An option or argument of a command."""

    name: str
    """The function's parameter."""
    opts: list[str]
    """The flags that set it, `-w` and `--workers`."""
    param_type_name: str
    """`option` or `argument`."""
    is_eager: bool
    """Whether it acts before the others are looked at, such as --version."""
    expose_value: bool
    """Whether the command sees its value."""
    multiple: bool
    """Whether it may be repeated."""
    process_value: Callable[[Any, Any], Any]
    """Makes the value out of what was typed."""


class Command(Protocol):
    """A command, or a group of commands."""

    params: list[Parameter]
    """What it can be given."""

    def get_params(self, ctx: Any, /) -> list[Parameter]:
        """Return the same with --help."""


class Context(Protocol):
    """A command that is being run."""

    command: Command
    """What is run."""
    params: dict[str, Any]
    """The values."""

    def get_parameter_source(self, name: str, /) -> Enum | None:
        """Return where a value comes from."""


def below(command: Command) -> Mapping[str, Command]:
    """Return the commands of a group by their names; none of what is no group."""
    commands: Mapping[str, Command] = getattr(command, "commands", {})
    return commands


def is_flag(parameter: Parameter) -> bool:
    """Say whether it is an option without a value."""
    return bool(getattr(parameter, "is_flag", False))


def take_as_typed(command: Command, context: Context) -> None:
    """Make every value of a command, and of those below it, the text that was typed."""
    for parameter in command.get_params(context):
        parameter.process_value = _as_typed
    for each in below(command).values():
        take_as_typed(each, context)


def _as_typed(context: Any, value: Any) -> Any:
    del context
    return value
