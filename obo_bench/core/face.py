"""The face of a run: what its operator sees on stderr, drawn by one thread of its own."""

import time
from typing import Protocol

from obo_bench.core.forecast import progress_text
from obo_bench.core.reporter import write_line
from obo_bench.core.run_state import RunState

HEARTBEAT_SEC = 300.0
"""After so much silence a plain face says how the run stands: half of the ten minutes after which build servers give up
on a silent job, and six hours of one task are some seventy lines."""


class Face(Protocol):
    """Shows a run. Whatever one of its methods raises ends the face, and never the run."""

    period_sec: float
    """How often `look` is called."""

    def line(self, line: str) -> None:
        """Show something that happened: one line fit for a terminal, with its time."""

    def look(self, state: RunState) -> None:
        """Show how the run stands now."""

    def close(self, state: RunState) -> None:
        """Leave the terminal to what comes after."""


class PlainFace:
    """A line for each event, and a sign of life when nothing happens for long."""

    period_sec = 1.0

    def __init__(self, heartbeat_sec: float = HEARTBEAT_SEC) -> None:
        self._heartbeat_sec = heartbeat_sec
        self._last = time.monotonic()

    def line(self, line: str) -> None:
        """Print it."""
        self._last = time.monotonic()
        write_line(line)

    def look(self, state: RunState) -> None:
        """Print how the run stands, if nothing was printed for long."""
        if time.monotonic() - self._last >= self._heartbeat_sec:
            self.line(f"{time.strftime('%H:%M:%S')} {progress_text(state.snapshot())}")

    def close(self, state: RunState) -> None:
        """Nothing is left to do."""


class NoFace:
    """Shows nothing."""

    period_sec = 3600.0

    def line(self, line: str) -> None:
        """Drop it."""

    def look(self, state: RunState) -> None:
        """Show nothing."""

    def close(self, state: RunState) -> None:
        """Nothing is left to do."""
