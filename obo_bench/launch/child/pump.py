"""Carries a launcher's output from its pipe to the screen and the log, and lets somebody read its lines."""

import contextlib
import os
import select
import threading
from collections.abc import Callable

from obo_bench.core.redact import Redactor
from obo_bench.core.signals import untorn
from obo_bench.launch.child.output_log import OutputLog
from obo_bench.launch.child.redacting import RedactingStream
from obo_bench.launch.child.screen import Screen

LONGEST_READ_LINE = 4000
"""Bytes of a line that its reader is given."""
_BLOCK = 64 * 1024
_IDLE_MS = 300
_DRAIN_SEC = 5.0
"""How long output may still come after the launcher and all that it left behind have ended."""

LineReader = Callable[[str], None]


class Pump:
    """A thread that reads the pipe until it ends. The launcher waits while a slow screen takes its time."""

    def __init__(self, redactor: Redactor, screen: Screen, log: OutputLog, read_line: LineReader | None) -> None:
        self._source, self.inlet = os.pipe()
        """`inlet` is what the launcher writes to."""
        self._stream = RedactingStream(redactor)
        self._screen = screen
        self._log = log
        self._lines = _Lines(read_line) if read_line else None
        self._thread = threading.Thread(target=self._run, name="launcher output", daemon=True)
        self._over = threading.Event()

    @untorn
    def start(self) -> None:
        """Begin, once the launcher has the inlet: ours is closed, so that the pipe ends with the launcher."""
        os.close(self.inlet)
        self.inlet = -1
        self._thread.start()

    def close(self) -> bool:
        """Wait for the end of the output, and close the log; False where somebody still holds the pipe."""
        if self.inlet >= 0:
            os.close(self.inlet)
            os.close(self._source)
            self._log.close()
            return True
        self._thread.join(_DRAIN_SEC)
        self._over.set()
        ended = not self._thread.is_alive()
        self._thread.join(_DRAIN_SEC)
        return ended

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while not self._over.is_set():
            if not poll.poll(_IDLE_MS):
                self._give(self._stream.idle())
                continue
            data = os.read(self._source, _BLOCK)
            if not data:
                break
            self._give(self._stream.feed(data))
            self._look(data)
        self._give(self._stream.close())
        self._look(b"\n")
        self._log.close()
        os.close(self._source)

    def _give(self, data: bytes) -> None:
        if data:
            self._log.write(data)
            self._screen.show(data)

    def _look(self, data: bytes) -> None:
        if self._lines is not None:
            # Whatever a reader makes of a line, the output goes on.
            with contextlib.suppress(Exception):
                self._lines.feed(data)


class _Lines:
    """Hands over each complete line, as text and cut to a bearable length."""

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take what came."""
        *lines, rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[:LONGEST_READ_LINE]
        for line in lines:
            if line:
                self._reader(line[:LONGEST_READ_LINE].decode("utf-8", "replace"))
