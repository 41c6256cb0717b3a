"""Tells mistakes in a command line in the words of people: the value, what is wrong with it, and what may be meant."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer

from obo_bench.cli.parsing import Command, below

_LONGEST = 100
_SAID: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda limits: f"is less than {limits['ge']:g}",
    "greater_than": lambda limits: f"is not more than {limits['gt']:g}",
    "less_than_equal": lambda limits: f"is more than {limits['le']:g}",
    "less_than": lambda limits: f"is not less than {limits['lt']:g}",
    "int_parsing": lambda _: "is no whole number",
    "int_from_float": lambda _: "is no whole number",
    "int_parsing_size": lambda _: "is too large a number",
    "float_parsing": lambda _: "is no number",
    "finite_number": lambda _: "is no finite number",
}
"""What the validator's kinds of errors mean; source: the error types of pydantic_core."""


def name_value(error: typer.BadParameter) -> None:
    """Make the parser's error name the value that it does not take."""
    details = getattr(error.__cause__, "errors", None)
    if details is None:
        return
    [found, *_] = details(include_url=False)
    said = _SAID.get(found["type"])
    if said is not None:
        error.message = f"{str(found['input'])[:_LONGEST]!r} {said(found.get('ctx') or {})}"
    else:
        error.message = found["msg"].removeprefix("Value error, ")


def name_command(error: Exception, root: Command, typed: str) -> None:
    """Make the parser's error about an unknown command name those that groups have: `programbench status`.

    Its class is private to the parser; where it has suggestions of its own they are kept.
    """
    message = getattr(error, "message", "")
    inside: dict[str, list[str]] = {}
    for path in _paths(root):
        inside.setdefault(path[-1], []).append(" ".join(path))
    meant = [path for near in difflib.get_close_matches(typed, inside, cutoff=0.75) for path in inside[near]]
    if meant and message.startswith("No such command") and "Did you mean" not in message:
        vars(error)["message"] = f"{message} Did you mean {' or '.join(map(repr, meant))}?"


def _paths(group: Command, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in below(group).items():
        path = (*before, name)
        if before and not below(command):
            yield path
        yield from _paths(command, path)
