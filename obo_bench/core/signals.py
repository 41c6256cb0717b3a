"""Turn the signals that end a run into one exception that unwinds it, so that the end can be recorded."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked the run to end; derived from BaseException so that no `except Exception` swallows it."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"ended by {signal.Signals(signum).name}")
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """The status a shell expects: 128 plus the signal's number."""
        return 128 + self.signum


def end_process_unless(recorded: Callable[[], bool]) -> None:
    """For a process's whole life: an ending signal ends it, unless its ending is recorded already.

    What happens during a session is the business of that session's guard.
    """

    def handle(signum: int, _frame: FrameType | None) -> None:
        if not recorded():
            raise Interrupted(signum)

    for signum in ENDING_SIGNALS:
        signal.signal(signum, handle)


class SignalGuard:
    """Holds signals back while the record is being opened or closed, and raises them in between.

    Outside the main thread (library use) it does nothing: Python delivers signals to the main thread only.
    """

    def __init__(self) -> None:
        self._pending: int | None = None
        self._open = False
        self._previous: dict[int, Any] = {}

    def install(self) -> None:
        """Take over the ending signals, holding them back until `deliver`."""
        if threading.current_thread() is threading.main_thread():
            for signum in ENDING_SIGNALS:
                self._previous[signum] = signal.signal(signum, self._handle)

    def deliver(self) -> None:
        """Raise a signal that came in the meantime, and let later ones raise at once."""
        self._open = True
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise Interrupted(pending)

    def hold(self) -> None:
        """Hold signals back again: what follows must not be torn."""
        self._open = False

    def uninstall(self) -> None:
        """Give the signals back."""
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        if self._open:
            raise Interrupted(signum)
        self._pending = signum
