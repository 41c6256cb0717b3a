"""Shows a run while it goes on, without ever holding it up: its workers only leave a note, one thread draws.

The face may break, its terminal may vanish or stand still: then the next face takes over, at last none.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from obo_bench.core.face import Face, NoFace, PlainFace
from obo_bench.core.invocation_log import InvocationLog
from obo_bench.core.reporter import PlainReporter, Reporter, SilentReporter, told
from obo_bench.core.run_changes import Change, InstanceChange, Phase, change_text
from obo_bench.core.run_state import RunState

FaceMaker = Callable[[], Face]

_SHOWN_PHASES = frozenset({Phase.SEED, Phase.PACKAGING})
"""Work of ours without an event of its own, which a plain face tells too."""
_PROGRESS_SEC = 30.0
"""How often a line says how far an instance's pull is."""
_LONGEST_QUEUE = 10_000
"""Lines that wait for a face that is slow; the oldest are dropped."""
_SHORTEST_PAUSE_SEC = 0.05
_CLOSE_SEC = 2.0
"""How long a terminal that takes nothing is waited for at the end."""


class Display(Reporter):
    """The reporter of a command; before it is opened, and after it is closed, events go straight to stderr."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        """Whether nothing is to be shown."""
        self._verbose = verbose
        self._direct: Reporter = SilentReporter() if quiet else PlainReporter()
        self._shown: _Shown | None = None

    def faces(self) -> Iterable[FaceMaker]:
        """Give the makers of the faces to try, the best first."""
        return [NoFace if self.quiet else PlainFace]

    def event(self, text: str, subject: str = "") -> None:
        """Show one event, and log it."""
        shown = self._shown
        if shown is None:
            self._direct.event(text, subject)
        else:
            shown.event(text, subject)

    def update(self, change: Change) -> None:
        """Take note of a change; -v tells it."""
        shown = self._shown
        if shown is not None:
            shown.update(change, verbose=self._verbose)

    def flush(self) -> None:
        """Wait until all events so far are shown, two seconds at most."""
        shown = self._shown
        if shown is not None:
            shown.flush()

    def open(self, log: InvocationLog) -> None:
        """Begin to show, and to log."""
        self._shown = _Shown(list(self.faces()), log)

    def close(self, last_words: str) -> None:
        """Log the last words, and leave the terminal to what comes after."""
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.close(last_words)


class _Shown:
    """An open display."""

    def __init__(self, faces: list[FaceMaker], log: InvocationLog) -> None:
        self._faces = iter([*faces, NoFace])
        self._log = log
        self._state = RunState()
        self._lines: deque[str | threading.Event] = deque(maxlen=_LONGEST_QUEUE)
        self._progress_told: dict[str, float] = {}
        self._news = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="display", daemon=True)
        self._thread.start()

    def event(self, text: str, subject: str = "") -> None:
        self._log.line(text, subject)
        self._state.event(text, subject)
        self._say(text, subject)

    def update(self, change: Change, *, verbose: bool) -> None:
        self._state.update(change)
        text = change_text(change)
        if not text or not isinstance(change, InstanceChange):
            return
        if change.phase is not None or verbose:
            self._log.line(text, change.subject)
        if verbose:
            self._state.event(text, change.subject)
        if verbose or change.phase in _SHOWN_PHASES or self._is_long(change):
            self._say(text, change.subject)

    def flush(self) -> None:
        reached = threading.Event()
        self._lines.append(reached)
        self._news.set()
        reached.wait(_CLOSE_SEC)

    def _is_long(self, change: InstanceChange) -> bool:
        """Say whether it tells how far something is that takes long."""
        now = time.monotonic()
        if change.progress is None or now - self._progress_told.setdefault(change.subject, now) < _PROGRESS_SEC:
            return False
        self._progress_told[change.subject] = now
        return True

    def close(self, last_words: str) -> None:
        self._log.line(last_words)
        self._log.close()
        self._over.set()
        self._news.set()
        self._thread.join(_CLOSE_SEC)

    def _say(self, text: str, subject: str) -> None:
        self._lines.append(f"{time.strftime('%H:%M:%S')} {told(text, subject)}")
        self._news.set()

    def _draw(self) -> None:
        for make in self._faces:
            # A face is foreign to the run: whatever breaks it, the next one goes on.
            with contextlib.suppress(Exception):
                self._show(make())
                return

    def _show(self, face: Face) -> None:
        looked = 0.0
        while not self._over.is_set():
            self._news.wait(face.period_sec)
            self._news.clear()
            self._hand_over(face)
            if time.monotonic() - looked >= face.period_sec:
                looked = time.monotonic()
                face.look(self._state)
            self._over.wait(_SHORTEST_PAUSE_SEC)
        self._hand_over(face)
        face.close(self._state)

    def _hand_over(self, face: Face) -> None:
        for line in self._pending_lines():
            face.line(line)

    def _pending_lines(self) -> Iterator[str]:
        with contextlib.suppress(IndexError):
            while True:
                line = self._lines.popleft()
                if isinstance(line, threading.Event):
                    line.set()  # what came before it has been shown
                else:
                    yield line
