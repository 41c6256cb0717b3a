"""The static guard: from the entry point and the callback of every recorded command up to the manifest."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import obo_bench
from obo_bench.cli import registry
from obo_bench.cli.app import app
from tests.guard.findings import Finding, Frame, merged
from tests.guard.source import Package
from tests.guard.values import Function
from tests.guard.walk import Walk

PRODUCT = Path(obo_bench.__file__).parent


@dataclass(frozen=True)
class Command:
    """A command, and the functions that the dispatcher runs for it: the callbacks of its groups and its own."""

    name: str
    """As typed."""
    callbacks: tuple[str, ...]
    """`module:function`, outermost first."""


def recorded_commands() -> list[Command]:
    """Return every command that is registered as recorded, read from the live command line."""
    return [command for command in _commands(typer.main.get_command(app), "", ()) if command.name in registry.RECORDED]


def distinct(commands: list[Command]) -> list[Command]:
    """Return one command of those that are the same function under two names."""
    return list({command.callbacks[-1]: command for command in commands}.values())


def _commands(group: object, prefix: str, above: tuple[str, ...]) -> list[Command]:
    found: list[Command] = []
    above = (*above, *_callback(group))
    for name, command in getattr(group, "commands").items():  # noqa: B009  # typer's own group type is private
        path = f"{prefix} {name}".strip()
        if hasattr(command, "commands"):
            found += _commands(command, path, above)
        else:
            found.append(Command(path, (*above, *_callback(command))))
    return found


def _callback(command: object) -> tuple[str, ...]:
    callback: Any = getattr(command, "callback", None)
    while hasattr(callback, "__wrapped__"):
        callback = callback.__wrapped__
    return (f"{callback.__module__}:{callback.__qualname__}",) if callback else ()


def walk_commands(root: Path, commands: list[Command]) -> tuple[Walk, list[Finding]]:
    """Walk the commands of a package at `root`, a copy of the product; returns the walk and the violations."""
    walk = Walk(Package(root))
    findings = walk.module("obo_bench.__main__")
    for name in ("obo_bench.__main__:run", *dict.fromkeys(name for c in commands for name in c.callbacks)):
        walk.dispatched = False
        function = _function(walk, name)
        if function is None:
            findings.append(Finding(f"no function {name}", (Frame(name, 1),)))
            continue
        summary = walk.function(function, in_seam=False)
        findings += summary.findings
        if name in {command.callbacks[-1] for command in commands} and not summary.reaches:
            findings.append(Finding(f"{name} never comes to the seam", (Frame(function.scope.module.file, 1),)))
    return walk, merged(findings)


def _function(walk: Walk, name: str) -> Function | None:
    module, _, qualname = name.partition(":")
    home = walk.package.modules.get(module)
    for binding in home.scope.bindings.get(qualname, []) if home else []:
        if isinstance(binding.node, ast.FunctionDef):
            assert home is not None
            return Function(binding.node, home.scope)
    return None
