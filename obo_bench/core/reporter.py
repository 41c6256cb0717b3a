"""Where progress goes: one plain timestamped line per event, to stderr, never fatal to the run."""

import contextlib
import sys
import threading
import time
from typing import Protocol

from obo_bench.core.redact import process_redactor


class Reporter(Protocol):
    """Takes the events of a run as they happen; `subject` is an instance id, or empty for the run itself."""

    def event(self, text: str, subject: str = "") -> None:
        """Show one event."""


def printable(text: str) -> str:
    """Return foreign text as one line without control sequences, so that it cannot drive the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


class PlainReporter:
    """Timestamped lines on stderr."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def event(self, text: str, subject: str = "") -> None:
        """Print one line; a closed or odd stderr is not an error of the run."""
        stamp = time.strftime("%H:%M:%S")
        line = f"{stamp} {subject + ': ' if subject else ''}{printable(process_redactor().text(text))}\n"
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
