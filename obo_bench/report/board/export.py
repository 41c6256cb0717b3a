"""The board without a terminal: as text, and as a picture."""

import io
from typing import TYPE_CHECKING

from obo_bench.core.run_state import Snapshot
from obo_bench.report.board.layout import board

if TYPE_CHECKING:
    from rich.console import Console

TITLE = "obo-bench programbench run"


def board_text(
    state: Snapshot, width: int = 100, height: int = 30, *, encoding: str = "utf-8", colour: bool = False
) -> str:
    """Return the board as lines of at most `width` columns; with `colour` they carry terminal colours."""
    stream = io.StringIO()
    console = _console(stream, width, height, colour=colour)
    console.print(board(state, width, height, encoding), end="")
    return stream.getvalue()


def board_svg(state: Snapshot, width: int = 110, height: int = 30) -> str:
    """Return the board as an SVG picture of a terminal, always the same for the same state.

    It needs no font and no style sheet from elsewhere.
    """
    console = _console(io.StringIO(), width, height, colour=True, record=True)
    console.print(board(state, width, height))
    # The picture's frame cuts the underscores of its last line off.
    console.print()
    return console.export_svg(title=TITLE, unique_id="board", code_format=_without_web_fonts())


def _console(stream: io.StringIO, width: int, height: int, *, colour: bool, record: bool = False) -> "Console":
    from rich.console import Console

    return Console(
        file=stream,
        width=width,
        height=height,
        color_system="standard" if colour else None,
        force_terminal=True,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        record=record,
        # Whatever the environment says of colours and sizes was looked at by who calls.
        _environ={},
    )


def _without_web_fonts() -> str:
    import re

    from rich._export_format import CONSOLE_SVG_FORMAT

    return re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
