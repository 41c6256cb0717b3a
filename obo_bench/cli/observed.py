"""What every command gets, whatever it does: one layout of help, `--explain` where it is recorded, its values' origins.

Applied once to the whole command line, so that no command has to think of it.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.models import CommandInfo, TyperInfo

from obo_bench.cli import answer, origins, registry
from obo_bench.cli.panels import HelpfulCommand
from obo_bench.cli.parsing import Context
from obo_bench.core import invocation
from obo_bench.core.refusals import UsageError

_CONTEXT = "calling_context"
_EXPLAIN = "explain"

Explain = Annotated[
    bool, typer.Option(origins.EXPLAIN, help="Only show every value and where it comes from; touch and start nothing.")
]


def observe(app: typer.Typer, prefix: str = "") -> None:
    """Fit all commands of an application, and those of its groups."""
    for command in app.registered_commands:
        _fit(command, f"{prefix} {command.name}".strip())
    for group in app.registered_groups:
        if group.typer_instance is not None:
            name = f"{prefix} {group.name}".strip()
            if name in registry.RECORDED | registry.READ_ONLY and group.typer_instance.registered_callback:
                _fit(group.typer_instance.registered_callback, name)
            observe(group.typer_instance, name)


def _fit(command: CommandInfo | TyperInfo, name: str) -> None:
    if command.callback is None:
        return
    command.callback = observed(command.callback, explains=name in registry.RECORDED)
    if isinstance(command, CommandInfo):
        command.cls = HelpfulCommand


def observed(callback: Callable[..., Any], *, explains: bool) -> Callable[..., Any]:
    """Return the callback of a command, so that it is known what its values come from before it is called."""
    signature = inspect.signature(callback)
    parameters = list(signature.parameters.values())
    own = next((each.name for each in parameters if each.annotation is typer.Context), None)

    @functools.wraps(callback)
    def call(**values: Any) -> Any:
        context = values[own] if own else values.pop(_CONTEXT)
        return _called(callback, context, values, explain=explains and values.pop(_EXPLAIN))

    if own is None:
        parameters.insert(0, _keyword(_CONTEXT, typer.Context))
    if explains:
        parameters.append(_keyword(_EXPLAIN, Explain, default=False))
    ordered = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    setattr(call, "__signature__", signature.replace(parameters=ordered))  # noqa: B010  # as typer reads it
    call.__annotations__ = {each.name: each.annotation for each in ordered} | {"return": None}
    return call


def _keyword(name: str, annotation: Any, **default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, **default)


def _called(callback: Callable[..., Any], context: Context, values: dict[str, Any], *, explain: bool) -> Any:
    for conflict in origins.conflicts(context):
        answer.say(f"note: {conflict}")
    invocation.begin(invocation.Invocation(origins.origins(context), explain))
    try:
        return callback(**values)
    except invocation.Explained as explained:
        from obo_bench.cli import explain as explanation

        return explanation.give(context, explained.request)
    except UsageError as error:
        told = origins.with_variable(error, origins.from_environment(context))
        if told is error:
            raise
        raise told from error
