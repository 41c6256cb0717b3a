"""The board on a real pseudo-terminal: drawn in place, whatever its size, and never in the run's way."""

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.board_child import MANY
from tests.terminal_screen import Screen

COLOUR = "\x1b[3"


class Terminal:
    """A pseudo-terminal with a process on it that has no other terminal; the process's stdin is a pipe."""

    def __init__(self, argv: list[str], env: Mapping[str, str], columns: int = 100, rows: int = 30) -> None:
        self.master, slave = os.openpty()
        self.written = ""
        self.resize(columns, rows)
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, sign: str) -> str:
        """Read until `sign` was written since the last call; give all that was written since then."""
        begun = len(self.written)
        while sign not in self.written[begun:]:
            assert self._read(), f"the process ended without {sign!r}: {self.written[begun:]}"
        return self.written[begun:]

    def read_rest(self) -> int:
        while self._read():
            pass
        return self.process.wait(60)

    def answer(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.master)
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait(60)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.master], [], [], 60)
        assert ready, "nothing was written for a minute"
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.written += data.decode("utf-8", "surrogateescape")
        return bool(data)


@contextmanager
def board_of(
    ending: str, tmp_path: Path, checkout: Path, *flags: str, env: Mapping[str, str] | None = None, columns: int = 100
) -> Iterator[Terminal]:
    argv = [sys.executable, "-m", "tests.board_child", str(tmp_path / "run"), str(checkout), ending, *flags]
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    terminal = Terminal(argv, {**plain, "TERM": "xterm-256color", **(env or {})}, columns)
    try:
        yield terminal
    finally:
        terminal.close()


def log_of(tmp_path: Path) -> str:
    [log] = (tmp_path / "run" / "logs").iterdir()
    return log.read_text()


def seen(written: str, columns: int = 100) -> Screen:
    screen = Screen(columns)
    screen.feed(written)
    return screen


def test_the_board_is_drawn_in_place_and_stays_at_the_end(tmp_path: Path, checkout: Path) -> None:
    with board_of("line", tmp_path, checkout) as terminal:
        first = terminal.read_until("waiting")
        assert COLOUR in first
        terminal.read_until("solving")
        terminal.answer()
        assert terminal.read_rest() == 0
        screen = seen(terminal.written)
        assert screen.text.count("run r") == 1, "each drawing replaces the one before"
        assert "solving" in screen.text
        assert "1 completed" in screen.text
        assert screen.lines[-1] == "", "what comes next begins on a line of its own"


def test_foreign_text_neither_drives_the_terminal_nor_is_taken_for_markup(tmp_path: Path, checkout: Path) -> None:
    with board_of("finish", tmp_path, checkout) as terminal:
        assert terminal.read_rest() == 0
        assert "[red]x[/]" in terminal.written
        assert "\x1b[2J" not in terminal.written
        assert "\u202e" not in terminal.written


def test_a_resized_terminal_gets_a_board_of_its_size(tmp_path: Path, checkout: Path) -> None:
    with board_of("line", tmp_path, checkout) as terminal:
        terminal.read_until("solving")
        for columns, rows in ((40, 12), (12, 4), (3, 1), (250, 80), (90, 25)):
            terminal.resize(columns, rows)
            os.kill(terminal.process.pid, signal.SIGWINCH)
            if columns >= 40:
                terminal.read_until("solving")
                frame = terminal.read_until("\x1b[?7h").rpartition("\x1b[?7l")[2]
                assert frame.count("\n") < rows
                assert max(map(len, seen(frame, 1000).lines)) <= columns
        terminal.answer()
        assert terminal.read_rest() == 0


@pytest.mark.parametrize(
    ("ending", "signum"), [("wait", signal.SIGTERM), ("wait", signal.SIGINT), ("wait", signal.SIGKILL), ("crash", None)]
)
def test_every_way_out_leaves_a_usable_terminal(
    ending: str, signum: signal.Signals | None, tmp_path: Path, checkout: Path
) -> None:
    with board_of(ending, tmp_path, checkout) as terminal:
        if signum is not None:
            terminal.read_until("\x1b[?7h")
            terminal.process.send_signal(signum)
        status = terminal.read_rest()
        screen = seen(terminal.written)
        assert screen.cursor_shown
        assert screen.wraps
        assert not screen.alternate
        assert "solving" in screen.text
        if signum in {signal.SIGTERM, signal.SIGINT}:
            assert status == 128 + int(signum or 0)
            assert f"ended: interrupted: Interrupted: ended by {signal.Signals(signum or 0).name}" in log_of(tmp_path)


def test_a_terminal_that_vanishes_does_not_end_the_run(tmp_path: Path, checkout: Path) -> None:
    with board_of("line", tmp_path, checkout) as terminal:
        terminal.read_until("solving")
        os.close(terminal.master)
        terminal.answer()
        assert terminal.process.wait(60) == 0
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_text())
    assert manifest["extra"]["outcome"] == "completed"
    assert "first: completed (submission_prepared)" in log_of(tmp_path)


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path, checkout: Path) -> None:
    with board_of("finish", tmp_path, checkout, env={"TERM": "dumb"}) as terminal:
        assert terminal.read_rest() == 0
        assert "\x1b" not in terminal.written
        assert "first: completed (submission_prepared)" in terminal.written


def test_no_color_leaves_the_board_without_colours(tmp_path: Path, checkout: Path) -> None:
    with board_of("finish", tmp_path, checkout, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.read_rest() == 0
        assert "solving" in terminal.written
        assert "m" not in {part[-1:] for part in terminal.written.split("\x1b[") if part[:1].isdigit()}
        assert COLOUR not in terminal.written


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "cp932"},
    ],
    ids=str,
)
def test_a_poor_locale_gets_the_board_in_the_letters_it_has(
    env: dict[str, str], tmp_path: Path, checkout: Path
) -> None:
    with board_of("finish", tmp_path, checkout, env=env) as terminal:
        assert terminal.read_rest() == 0
        assert "solving" in terminal.written
        if "PYTHONUTF8" in env:
            assert "solving ##########----" in seen(terminal.written).text
            assert terminal.written.isascii()


def test_a_reader_that_stands_still_does_not_hold_the_run_up(tmp_path: Path, checkout: Path) -> None:
    """The terminal takes nothing: whoever writes to it waits, and that must be no worker."""
    manifest = tmp_path / "run" / "run_manifest.json"
    with board_of("many", tmp_path, checkout, env={"TERM": "dumb"}) as terminal:
        while not manifest.is_file() or json.loads(manifest.read_text())["extra"]["outcome"] == "started":
            assert terminal.process.poll() is None
            time.sleep(0.05)
        assert f"event {MANY - 1}\n" in log_of(tmp_path)
        assert terminal.read_rest() == 0
        assert "foreign" in terminal.written
