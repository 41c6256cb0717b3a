"""Turn the signals that end a run into one exception that unwinds it, so that the end can be recorded."""

import functools
import inspect
import signal
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import ParamSpec, TypeVar

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Handler = Callable[[int, FrameType | None], None]

_UNTORN: set[CodeType] = set()
_held: list[tuple[int, Handler]] = []
"""The signal that came while nothing might be torn, and the handler that held it back; of the main thread alone."""


class Interrupted(BaseException):
    """A signal asked the run to end; derived from BaseException so that no `except Exception` swallows it."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"ended by {signal.Signals(signum).name}")
        self.signum = signum
        self.exit_code = 128 + signum
        """The status a shell expects: 128 plus the signal's number."""


def untorn(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let no `Interrupted` tear a function, not even before its first line: it is raised when the function is over.

    A try statement cannot promise that: a second signal may arrive between the exception and its handler.
    """

    def whole(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        try:
            return function(*args, **kwargs)
        finally:
            # Python looks for signals at calls: none can come between this test and the return.
            if _held:
                _raise_held(inspect.currentframe())

    _UNTORN.add(whole.__code__)
    functools.update_wrapper(whole, function)
    return whole


def _raise_held(whole: FrameType | None) -> None:
    """Raise the signal that was held back, unless what called may not be torn either.

    Where its handler is gone, the session that had it has recorded how it ended: it is settled.
    """
    caller = whole.f_back if whole is not None else None
    if threading.current_thread() is not threading.main_thread() or _is_untorn(caller):
        return
    signum, handler = _held.pop()
    _held.clear()
    if signal.getsignal(signum) == handler:
        raise Interrupted(signum)


def end_process_unless(recorded: Callable[[], bool]) -> None:
    """For a process's whole life: an ending signal ends it, unless its ending is recorded already.

    What happens during a session is the business of that session's guard.
    """

    def handle(signum: int, frame: FrameType | None) -> None:
        if recorded():
            return
        if _is_untorn(frame):
            _held.append((signum, handle))
        else:
            raise Interrupted(signum)

    for signum in _heeded():
        signal.signal(signum, handle)


@untorn
def ignore_ending_signals() -> None:
    """The ending is decided: nothing may change it any more."""
    for signum in ENDING_SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


class SignalGuard:
    """Holds signals back while the record is being opened or closed, and raises them in between.

    Outside the main thread (library use) it does nothing: Python delivers signals to the main thread only.
    """

    def __init__(self) -> None:
        self.arrived: int | None = None
        """The last signal that arrived. It decides the ending, also when its exception was swallowed on the way."""
        self._open = False
        self._previous: dict[int, signal.Handlers | Handler | int | None] = {}

    def install(self) -> None:
        """Take over the ending signals, holding them back until `deliver`."""
        if threading.current_thread() is threading.main_thread():
            for signum in _heeded():
                self._previous[signum] = signal.signal(signum, self._handle)

    def deliver(self) -> None:
        """Raise a signal that came in the meantime, holding back others; without one, let later ones raise at once."""
        if self.arrived is not None:
            raise Interrupted(self.arrived)
        self._open = True

    def hold(self) -> None:
        """Hold signals back again: what follows must not be torn."""
        self._open = False

    def uninstall(self) -> None:
        """Give the signals back."""
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.arrived = signum
        if not self._open:
            return
        if _is_untorn(frame):
            _held.append((signum, self._handle))
        else:
            raise Interrupted(signum)


def _heeded() -> list[signal.Signals]:
    """Return the ending signals but a SIGHUP that the caller had ignored: that is what `nohup` asks for."""
    return [
        signum for signum in ENDING_SIGNALS if signum != signal.SIGHUP or signal.getsignal(signum) is not signal.SIG_IGN
    ]


def _is_untorn(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _UNTORN:
            return True
        frame = frame.f_back
    return False
