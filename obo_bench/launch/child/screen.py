"""Show a launcher's output to the operator: its bytes as they are, but nothing of it drives a terminal."""

import os
import re

_CONTROL = re.compile(
    r"""
    \x1b\[[0-?]*[ -/]*[@-~]          # a control sequence: colours, cursor movements
    |[\x1b\x9d][\]PX^_].*?(?:\x07|\x1b\\|$)   # a command to the terminal: titles, clipboard, keys
    |\x1b[ -/]*[0-~]?                # any other escape
    """,
    re.VERBOSE,
)
_KEPT = "\n\r\t"
"""What a progress bar needs."""


class Screen:
    """Standard error of this process; whatever goes wrong with it never reaches the launcher."""

    def __init__(self, descriptor: int, *, quiet: bool = False) -> None:
        self._descriptor = descriptor
        self._broken = quiet
        self._terminal = not quiet and os.isatty(descriptor)

    def show(self, data: bytes) -> None:
        """Write redacted output at once."""
        if self._broken or not data:
            return
        shown = tame(data) if self._terminal else data
        try:
            while shown:
                shown = shown[os.write(self._descriptor, shown) :]
        except OSError:
            self._broken = True


def tame(data: bytes) -> bytes:
    """Return output without anything but text, line ends, carriage returns and tabs.

    Control sequences go; every other control, format or bidi character becomes a blank.
    """
    text = _CONTROL.sub("", data.decode("utf-8", "replace"))
    return "".join(character if character.isprintable() or character in _KEPT else " " for character in text).encode(
        "utf-8", "replace"
    )
