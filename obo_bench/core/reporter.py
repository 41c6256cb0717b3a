"""Where progress goes: one plain timestamped line per event, to stderr, never fatal to the run."""

import contextlib
import sys
import threading
import time
from typing import Protocol

from obo_bench.core.redact import process_redactor

LONGEST_LINE = 4000
"""Characters of one event that are shown."""


class Reporter(Protocol):
    """Takes the events of a run as they happen; `subject` is an instance id, or empty for the run itself."""

    def event(self, text: str, subject: str = "") -> None:
        """Show one event."""


def printable(text: str) -> str:
    """Return foreign text as one line that cannot drive the terminal and does not fill it.

    Every control, format and bidi character and every lone surrogate becomes a blank; what is long is cut.
    """
    kept = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} [cut: {len(text)} characters]"
    return "".join(character if character.isprintable() else " " for character in kept)


class PlainReporter:
    """Timestamped lines on stderr."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def event(self, text: str, subject: str = "") -> None:
        """Print one line; a closed or odd stderr is not an error of the run."""
        stamp = time.strftime("%H:%M:%S")
        told = f"{subject}: {text}" if subject else text
        line = f"{stamp} {printable(process_redactor().text(told))}\n"
        with self._lock, contextlib.suppress(OSError, ValueError):
            sys.stderr.write(
                line.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(
                    sys.stderr.encoding or "utf-8", "replace"
                )
            )
            sys.stderr.flush()


class SilentReporter:
    """Shows nothing (`--quiet`, and library use)."""

    def event(self, text: str, subject: str = "") -> None:
        """Drop the event."""
