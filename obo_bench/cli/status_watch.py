"""`status --watch`: look again and again until the run's process has ended, and show what has changed."""

import json
import sys
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from obo_bench.cli.status_text import change_lines, frame_lines, status_lines
from obo_bench.core.redact import process_redactor
from obo_bench.report.board.style import signs_for
from obo_bench.report.board.wrapping import shortened

if TYPE_CHECKING:
    from obo_bench.report.status.collect import StatusReader
    from obo_bench.report.status.document import RunStatus

_MOVING = ("taken_at_unix", "elapsed_sec", "worked_sec")
"""What differs from one look to the next although nothing has changed."""
_ROOM_FOR_CURSOR = 1
"""Lines of a terminal that are left to the cursor: a picture that is higher could not be taken away again."""


class OutputGone(Exception):
    """Nobody reads any more what is shown."""


class Looker(ABC):
    """Takes one status after the other; a context manager."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(  # noqa: B027  # most have nothing to give back
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""

    @abstractmethod
    def show(self, status: "RunStatus") -> None:
        """Show a status; raises OutputGone."""


class JsonLines(Looker):
    """One line of JSON per change: a document of the format `obo_bench.status.v1`."""

    def __init__(self) -> None:
        self._before: dict[str, Any] | None = None

    def show(self, status: "RunStatus") -> None:
        """Write the status where it has changed."""
        document = process_redactor().document(status.document())
        steady = _steady(document)
        if steady != self._before:
            self._before = steady
            _write([json.dumps(document)])


class PlainLines(Looker):
    """One line per change of the run or of an instance."""

    def __init__(self) -> None:
        self._before: RunStatus | None = None

    def show(self, status: "RunStatus") -> None:
        """Write what has changed."""
        lines, self._before = change_lines(self._before, status), status
        _write(lines)


class InPlace(Looker):
    """The status, refreshed in its place on a terminal of any size; the last one stays there as a whole."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
        """The terminal."""
        self._live = Live(
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        """Take the terminal."""
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back; the last picture stays there where no whole text has taken its place."""
        self._live.transient = False
        self._live.__exit__(kind, error, trace)

    def show(self, status: "RunStatus") -> None:
        """Show the status in the place of the one before; raises OutputGone."""
        from rich.text import Text

        if is_over(status):
            self._live.stop()
            _write(status_lines(status))
            return
        columns, height = self.console.size
        text = process_redactor().text("\n".join(frame_lines(status, height - _ROOM_FOR_CURSOR)))
        shown = text.encode(self.console.encoding, "backslashreplace").decode(self.console.encoding)
        more = signs_for(self.console.encoding).more
        lines = [shortened(line, columns, more, tail=0) for line in shown.split("\n")]
        try:
            self._live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)
        except OSError as error:
            raise OutputGone(str(error)) from error


class LastOnly(Looker):
    """Shows nothing but the end (`--quiet`)."""

    def __init__(self, shown: Looker) -> None:
        self._shown = shown if isinstance(shown, JsonLines) else _WholeText()

    def show(self, status: "RunStatus") -> None:
        """Show the status if it is the last one."""
        if is_over(status):
            self._shown.show(status)


class _WholeText(Looker):
    def show(self, status: "RunStatus") -> None:
        _write(status_lines(status))


def display() -> Looker:
    """Return what shows statuses to people: in place on a terminal that can do that, else line by line."""
    if sys.stdout.isatty():
        shown = InPlace()
        if shown.console.is_terminal and not shown.console.is_dumb_terminal:
            return shown
    return PlainLines()


def watch_run(reader: "StatusReader", interval_sec: float, looker: Looker) -> None:
    """Show statuses until the run's process has ended, or nobody reads them any more."""
    try:
        while True:
            status = reader.read()
            looker.show(status)
            if is_over(status):
                return
            time.sleep(interval_sec)
    except OutputGone:
        return


def is_over(status: "RunStatus") -> bool:
    """Say whether no process is at work on the run any more."""
    return status.process.state != "alive"


def _steady(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without what moves by itself; the engine's own words count the seconds, too."""
    steady = {key: value for key, value in document.items() if key not in _MOVING}
    rooms = [{**one, "container": {**(one["container"] or {}), "detail": ""}} for one in document["instances"]]
    return {**steady, "instances": rooms}


def _write(lines: list[str]) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    text = process_redactor().text("".join(f"{line}\n" for line in lines))
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        raise OutputGone(str(error)) from error
