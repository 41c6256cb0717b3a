"""`child/output.log`: what a launcher printed, redacted and bounded: its beginning and its end."""

import os
from collections.abc import Callable
from pathlib import Path

from obo_bench.core.files import PRIVATE_FILE

HEAD_BYTES = 16 * 1024 * 1024
"""Bytes of the beginning that are kept."""
TAIL_BYTES = 16 * 1024 * 1024
"""Bytes of the end that are kept at least, where not all was kept."""
_COPY = 1 << 20


class OutputLog:
    """Writes the log; one that cannot be written is told once, and the launcher goes on.

    What does not fit behind the beginning goes in turn to two files beside it, `.output.tail.log` and
    `.output.tail.earlier.log`; the end of the log is made of them when it is closed.
    """

    def __init__(
        self, path: Path, problem: Callable[[str], None], *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES
    ) -> None:
        self._path = path
        self._current = path.with_name(f".{path.stem}.tail.log")
        self._earlier = path.with_name(f".{path.stem}.tail.earlier.log")
        self._problem = problem
        self._room = head
        self._tail = tail
        self._dropped = 0
        self._part_size = 0
        self._file = self._part = -1
        self._broken = False
        try:
            self._file = _opened(path)
        except OSError as error:
            self._give_up(error)

    def write(self, data: bytes) -> None:
        """Take more output."""
        if self._broken:
            return
        try:
            head, rest = data[: self._room], data[self._room :]
            if head:
                _write(self._file, head)
                self._room -= len(head)
            if rest:
                self._write_tail(rest)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Put the end behind the beginning."""
        if self._broken:
            return
        try:
            if self._part >= 0:
                os.close(self._part)
                self._part = -1
                self._append_tail()
            self._check_place()
        except OSError as error:
            self._give_up(error)
        self._close_files()

    def _write_tail(self, data: bytes) -> None:
        if self._part >= 0 and self._part_size >= self._tail:
            os.close(self._part)
            if self._earlier.exists():
                self._dropped += self._earlier.stat().st_size
            self._current.replace(self._earlier)
            self._part = -1
        if self._part < 0:
            self._part, self._part_size = _opened(self._current), 0
        _write(self._part, data)
        self._part_size += len(data)

    def _append_tail(self) -> None:
        if self._dropped:
            _write(self._file, b"\n[... %d bytes are left out here ...]\n" % self._dropped)
        for path in (self._earlier, self._current):
            if path.exists():
                with path.open("rb") as stream:
                    while data := stream.read(_COPY):
                        _write(self._file, data)
                path.unlink()

    def _check_place(self) -> None:
        ours = os.fstat(self._file)
        try:
            there = self._path.lstat()
        except FileNotFoundError:
            self._problem(f"{self._path.name} was removed while it was written")
            return
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            self._problem(f"{self._path.name} was replaced while it was written: it is not what was printed")

    def _give_up(self, error: OSError) -> None:
        self._broken = True
        self._problem(f"the log {self._path.name} cannot be written: {error.strerror or error}")
        self._close_files()

    def _close_files(self) -> None:
        for descriptor in (self._part, self._file):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._part = -1


def _opened(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, PRIVATE_FILE)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
