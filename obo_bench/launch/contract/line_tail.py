"""Read a file that another process appends to: its complete lines, each once, in bounded memory."""

import hashlib
import os
import stat
from pathlib import Path

from obo_bench.core.ledger_row import LARGEST_LINE

_BLOCK = 64 * 1024
TOO_LONG = b"\0"
"""Stands for a line that is longer than any row: no JSON has this byte."""


class LineTail:
    """Goes on where it stopped. What is no regular file, was shortened, or changed where it was read, is read no more.

    A file that was replaced by one that begins in the same way is only a longer one.
    """

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self.trouble = ""
        """Why nothing more is read; empty while all is well."""
        self._path = path
        self._offset = 0
        self._identity: tuple[int, int] | None = None
        self._digest = hashlib.sha256()
        self._rest = b""
        self._overlong = False
        while from_end and self.block():
            pass

    def block(self) -> list[bytes]:
        """Return some of the lines that are complete by now, without their ends; none when there are no more."""
        while not self.trouble and (data := self._read()):
            self._offset += len(data)
            self._digest.update(data)
            *ends, rest = (self._rest + data).split(b"\n")
            lines = [TOO_LONG if len(line) >= LARGEST_LINE else line for line in ends]
            if self._overlong and lines:
                lines[0], self._overlong = TOO_LONG, False
            self._overlong = self._overlong or len(rest) >= LARGEST_LINE
            self._rest = b"" if self._overlong else rest
            if lines:
                return lines
        return []

    def rest(self) -> list[bytes]:
        """Return the last line, where it has no end and nothing more will come."""
        last = TOO_LONG if self._overlong else self._rest
        self._rest, self._overlong = b"", False
        return [last] if last else []

    def _read(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        except OSError as error:
            self.trouble = f"cannot be read: {error.strerror or error}"
            return b""
        try:
            return self._read_from(descriptor)
        finally:
            os.close(descriptor)

    def _read_from(self, descriptor: int) -> bytes:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            self.trouble = "is no regular file any more"
        elif found.st_size < self._offset:
            self.trouble = "was shortened: it may only grow"
        elif self._identity not in (None, (found.st_dev, found.st_ino)) and not self._same_beginning(descriptor):
            self.trouble = "was replaced by another one: it may only grow"
        if self.trouble:
            return b""
        self._identity = (found.st_dev, found.st_ino)
        return os.pread(descriptor, _BLOCK, self._offset)

    def _same_beginning(self, descriptor: int) -> bool:
        digest, at = hashlib.sha256(), 0
        while at < self._offset and (data := os.pread(descriptor, min(_BLOCK, self._offset - at), at)):
            digest.update(data)
            at += len(data)
        return digest.digest() == self._digest.digest()
