"""How help is laid out: commands by what an operator does, options never broken at a hyphen, the variables named.

typer shows panels only in its boxes; help is plain text here, so that it can be read everywhere and searched.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from typer.core import TyperCommand, TyperGroup

from obo_bench.cli import variables
from obo_bench.cli.parsing import below

GET_READY = "Get ready"
RUN = "Run"
LOOK = "Look"
GRADE = "Grade and publish"
CLEAN_UP = "Clean up"
OTHER_LAUNCHERS = "Other launchers"
PANELS = (GET_READY, RUN, LOOK, GRADE, CLEAN_UP, OTHER_LAUNCHERS)
"""The headings, in the order of an operator's day; a command names its own as `rich_help_panel`."""

_ELSEWHERE = "Commands"
_TYPES = {"int": "n", "int range": "n", "float": "n", "float range": "n", "str": "text", "list[str]": "text"}
"""What the parser calls types of values, and what an operator calls them."""
_UNBROKEN = "\ue000"
"""Stands for a hyphen while text is wrapped: a line may end at a hyphen, but not inside of an option."""


class HelpfulCommand(TyperCommand):
    """A command whose help is laid out as everywhere."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of the help."""
        with_whole_words(formatter, lambda: super(HelpfulCommand, self).format_help(ctx, formatter))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; what says itself what may be repeated gets no signs for that."""
        return [re.sub(r"^\{(-- .*)\}\.\.\.$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit status, and where values come from."""
        del ctx
        write_epilog(self, formatter)


class HelpfulGroup(TyperGroup):
    """A group of commands, shown in panels."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of the help."""
        with_whole_words(formatter, lambda: super(HelpfulGroup, self).format_help(ctx, formatter))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit status, and where values come from."""
        del ctx
        write_epilog(self, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel that has a command, all in the same columns."""
        del ctx
        commands = {name: each for name, each in below(cast("Any", self)).items() if not cast("Any", each).hidden}
        width = max((len(name) for name in commands), default=0)
        for panel in (*PANELS, _ELSEWHERE):
            rows = [
                (f"{name:<{width}}", cast("Any", each).get_short_help_str(formatter.width))
                for name, each in commands.items()
                if panel_of(each) == panel
            ]
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


def panel_of(command: object) -> str:
    """Return the heading that a command stands under."""
    named = getattr(command, "rich_help_panel", None)
    return named if isinstance(named, str) else _ELSEWHERE


def with_whole_words(formatter: Any, write: Callable[[], None]) -> None:
    """Write with a formatter of the parser that breaks no line at a hyphen: `--run-` means something else."""
    write_text, write_dl = formatter.write_text, formatter.write_dl
    formatter.write_text = lambda text: write_text(_whole(text))
    formatter.write_dl = lambda rows, *more, **named: write_dl(
        [(_plain(name), _whole(text)) for name, text in rows], *more, **named
    )
    write()
    formatter.buffer[:] = [part.replace(_UNBROKEN, "-") for part in formatter.buffer]


def write_epilog(command: object, formatter: Any) -> None:
    """Write the last paragraphs of a command's help."""
    for paragraph in _last_words(cast("Any", command)):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(paragraph)


def _last_words(command: Any) -> Iterator[str]:
    if command.epilog:
        yield inspect.cleandoc(command.epilog)
    flag = next((flag for flag, _ in variables.options(command)), None)
    if flag is not None:
        yield variables.meaning(flag)


def _plain(name: str) -> str:
    """Return an option or argument as people name it: `<n>` for `<int range>`, and an argument without its type."""
    if not name.startswith("-"):
        return re.sub(r" <(?:str|path|list\[str\])>$", "", name)
    return re.sub(r"<([^<>]+)>$", lambda found: f"<{_TYPES.get(found[1], found[1])}>", name)


def _whole(text: str) -> str:
    return text.replace("-", _UNBROKEN)
