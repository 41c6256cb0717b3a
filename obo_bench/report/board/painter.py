"""Draws lines in place on a terminal, over those drawn before.

No alternate screen and no hidden cursor: whenever the process dies, the terminal is as usable as it was. Sequences are
those of ECMA-48 and DEC private mode 7 (no wrapping at the right edge), which is set and reset within one write.
"""

import os
from collections.abc import Sequence

_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_LINE, _ERASE_BELOW = "\x1b[K", "\x1b[J"
SMALLEST = (10, 2)
"""Columns and rows below which nothing is drawn."""
LARGEST = (250, 100)
"""Columns and rows that are used at most: nobody reads further, and drawing costs time."""
_UNKNOWN_SIZE = (80, 24)


class Painter:
    """Draws on the terminal behind a descriptor; every method raises OSError when it is gone."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._widths: list[int] = []

    def size(self) -> tuple[int, int]:
        """Return columns and rows to draw in, the last row left to the cursor."""
        columns, rows = os.get_terminal_size(self._descriptor)
        if not columns or not rows:
            # A terminal that does not know its own size.
            columns, rows = _UNKNOWN_SIZE
        return min(columns, LARGEST[0]), min(rows - 1, LARGEST[1])

    def in_foreground(self) -> bool:
        """Say whether the terminal is ours at present: a job in the background must not draw over the shell's lines."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            # It is not the terminal that controls this process, so no shell shares it.
            return True

    def paint(self, lines: Sequence[str], widths: Sequence[int]) -> None:
        """Replace what was drawn before by these lines, which take so many columns."""
        columns, _ = os.get_terminal_size(self._descriptor)
        up = self._rows_drawn(columns or _UNKNOWN_SIZE[0])
        start = f"\r\x1b[{up}A" if up else "\r"
        body = "".join(f"{line}{_ERASE_LINE}\r\n" for line in lines)
        self._write(f"{start}{_NO_WRAP}{body}{_ERASE_BELOW}{_WRAP}")
        self._widths = list(widths)

    def forget(self) -> None:
        """Leave what is drawn where it is."""
        self._widths = []

    def close(self) -> None:
        """Let go of the terminal; what is drawn stays."""
        os.close(self._descriptor)

    def _rows_drawn(self, columns: int) -> int:
        """Return the rows that the last drawing takes: a terminal that became narrower has wrapped its lines."""
        return sum(max(-(-width // columns), 1) for width in self._widths)

    def _write(self, text: str) -> None:
        data = text.encode(self._encoding, "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]
