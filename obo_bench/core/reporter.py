"""Where progress goes: events as plain timestamped lines, and changes that only a display keeps; never fatal."""

import contextlib
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from obo_bench.core.redact import process_redactor

if TYPE_CHECKING:
    from obo_bench.core.run_changes import Change

LONGEST_LINE = 4000
"""Characters of one event that are shown."""


class Reporter(ABC):
    """Takes what happens in a run as it happens; `subject` is an instance id, or empty for the run itself.

    Safe to share between threads. Nothing that goes wrong with it ever reaches the run.
    """

    @abstractmethod
    def event(self, text: str, subject: str = "") -> None:
        """Show one event."""

    def update(self, change: "Change") -> None:  # noqa: B027  # nothing is what most do with it
        """Take note of how the run or an instance stands now; by default nobody does."""

    def flush(self) -> None:  # noqa: B027  # likewise
        """Wait, though never for long, until what was told is shown; by default it is shown at once."""


def printable(text: str) -> str:
    """Return foreign text as one line that cannot drive the terminal and does not fill it.

    Every control, format and bidi character and every lone surrogate becomes a blank; what is long is cut.
    """
    kept = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} [cut: {len(text)} characters]"
    return "".join(character if character.isprintable() else " " for character in kept)


def told(text: str, subject: str) -> str:
    """Return an event as one line for people, without secrets and without anything that drives the terminal."""
    return printable(process_redactor().text(f"{subject}: {text}" if subject else text))


def write_line(line: str) -> None:
    """Write one line to stderr in whatever encoding it has; raises OSError or ValueError when it is closed."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(f"{line}\n".encode(encoding, "backslashreplace").decode(encoding, "replace"))
    sys.stderr.flush()


class PlainReporter(Reporter):
    """Timestamped lines on stderr."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def event(self, text: str, subject: str = "") -> None:
        """Print one line; a closed or odd stderr is not an error of the run."""
        line = f"{time.strftime('%H:%M:%S')} {told(text, subject)}"
        with self._lock, contextlib.suppress(OSError, ValueError):
            write_line(line)


class SilentReporter(Reporter):
    """Shows nothing (`--quiet`, and library use)."""

    def event(self, text: str, subject: str = "") -> None:
        """Drop the event."""
