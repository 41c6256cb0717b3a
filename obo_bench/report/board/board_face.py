"""The face of a run on a terminal, and the choice between the faces there are."""

import os
import re
import sys
from collections.abc import Iterator, Mapping

from obo_bench.core.display import FaceMaker
from obo_bench.core.face import Face, NoFace, PlainFace
from obo_bench.core.run_state import RunState
from obo_bench.report.board.export import board_text
from obo_bench.report.board.painter import SMALLEST, Painter

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BoardFace:
    """Draws the board on stderr twice a second; while the terminal is another job's, tells plain lines instead."""

    period_sec = 0.5

    def __init__(self, painter: Painter, encoding: str, *, colour: bool) -> None:
        self._painter = painter
        self._encoding = encoding
        self._colour = colour
        self._plain = PlainFace()

    def line(self, line: str) -> None:
        """Print it, in the background only: the board shows the latest events itself."""
        if not self._painter.in_foreground():
            self._plain.line(line)

    def look(self, state: RunState) -> None:
        """Draw the board."""
        if not self._painter.in_foreground():
            self._painter.forget()
            self._plain.look(state)
            return
        columns, rows = self._painter.size()
        if columns < SMALLEST[0] or rows < SMALLEST[1]:
            return
        self._draw(state, columns, rows)

    def close(self, state: RunState) -> None:
        """Draw it a last time and leave it there."""
        self.look(state)
        self._painter.close()

    def _draw(self, state: RunState, columns: int, rows: int) -> None:
        from rich.cells import cell_len

        text = board_text(state.snapshot(), columns, rows, encoding=self._encoding, colour=self._colour)
        lines = text.splitlines()[:rows]
        self._painter.paint(lines, [cell_len(_COLOUR.sub("", line)) for line in lines])


def faces(environ: Mapping[str, str], *, quiet: bool) -> Iterator[FaceMaker]:
    """Give the faces to try, the best first: a board on a terminal, else lines, and none where quiet is wanted."""
    if quiet:
        yield NoFace
        return
    if environ.get("TERM", "dumb") != "dumb" and sys.stderr.isatty():
        yield lambda: _board_face(environ)
    yield PlainFace


def _board_face(environ: Mapping[str, str]) -> Face:
    encoding = sys.stderr.encoding or "ascii"
    # https://no-color.org: set and not empty.
    return BoardFace(Painter(os.dup(sys.stderr.fileno()), encoding), encoding, colour=not environ.get("NO_COLOR"))
