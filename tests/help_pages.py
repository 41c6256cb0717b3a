"""The help of every command as an operator sees it, and the example that it opens with."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import typer

from obo_bench.cli.app import app
from obo_bench.cli.parsing import below

WIDTH = 80
_EXAMPLE = re.compile(r"^  Example: (obo-bench (?:.*\\\n)*.*)$", re.MULTILINE)


def root() -> Any:
    return typer.main.get_command(app)


def every_name(command: Any = None, prefix: str = "") -> Iterator[str]:
    """Yield the names of all commands and groups below one; the root's own is empty."""
    command = root() if command is None else command
    yield prefix
    for name, each in below(command).items():
        yield from every_name(each, f"{prefix} {name}".strip())


def command_of(name: str) -> Any:
    found = root()
    for word in name.split():
        found = found.commands[word]
    return found


def page(name: str, width: int = WIDTH) -> str:
    """Return the help of a command as a terminal of that width shows it."""
    context: Any = typer.Context(root(), info_name="obo-bench", terminal_width=width)
    for word in name.split():
        context = typer.Context(context.command.commands[word], info_name=word, parent=context)
    return str(context.command.get_help(context))


def example(name: str) -> str:
    """Return the command line that the help of a command opens with, on one line."""
    found = _EXAMPLE.search(page(name))
    assert found, f"`obo-bench {name} --help` has no example on lines of its own"
    return re.sub(r"\\\n\s+", "", found[1])


def parsed(line: str) -> str:
    """Parse a command line as the program would, without running it; returns the command. Fails for what it refuses."""
    words = shlex.split(line)
    words = words[: words.index(">")] if ">" in words else words
    assert words[0] == "obo-bench"
    command, names, rest = root(), [], words[1:]
    while rest and rest[0] in below(command):
        command = command.commands[rest[0]]
        names.append(rest.pop(0))
    command.make_context(names[-1] if names else "obo-bench", rest)
    return " ".join(names)
