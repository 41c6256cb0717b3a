"""What is remembered of the reference program, so that copies of it are recognised without its file.

Where the operating system protects the reference nobody on the host can read it, so its traces are taken when it is
put in place. They are kept in the operator's own files, never in the workspace.
"""

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from pydantic import ConfigDict, ValidationError

from obo_bench.core.wire_format import WireModel
from obo_bench.programbench.packaging.tree import read_chunks

_PASSAGES = 32
_LONG, _SHORT = 64, 24
_LONG_FROM = 4096
"""Bytes from which on a program is large enough for the long passages."""
_SEARCHED_BYTES = 1 << 16
_LARGEST_PROGRAM = 16 * 1024**3
"""A sparse file can claim any number of bytes, and would be read for days."""
_MOST_HEADERS = 1 << 22
"""Bytes of the table of segments that are looked at: more than as many entries as there can be, of the usual size."""
_TEXT = bytes([9, 10, 12, 13, *range(32, 127)])


class Passage(WireModel):
    """A short distinctive piece of the reference."""

    model_config = ConfigDict(frozen=True)

    at: int
    """Its place in the file, in bytes from the beginning."""
    hex: str
    """The bytes, in hexadecimal digits."""

    @property
    def content(self) -> bytes:
        """The bytes."""
        return bytes.fromhex(self.hex)


class ReferenceTraces(WireModel):
    """What is known of the reference; all but the hash may be missing."""

    model_config = ConfigDict(frozen=True)

    sha256: str = ""
    """Hexadecimal hash of its content."""
    size: int = 0
    """Its size in bytes, 0 if it is not known."""
    loaded: int = 0
    """Bytes of it that are needed to run: without the symbols and the debugging data that `strip` takes away."""
    text: bool = False
    """It is a script."""
    beginning: str = ""
    """Its first bytes, in hexadecimal digits."""
    passages: tuple[Passage, ...] = ()
    """Pieces of it at even distances."""

    @classmethod
    def of_file(cls, path: Path) -> Self | None:
        """Take the traces of the program at `path`; None where that is no file that can be read in good time."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            is_program = stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_PROGRAM
            return cls._of_open(descriptor, status.st_size) if is_program else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    @classmethod
    def of_document(cls, document: object) -> Self | None:
        """Return the traces that were kept as `document`; None where that holds none."""
        try:
            traces = cls.model_validate(document)
            return traces if traces.sha256 and all(passage.content for passage in traces.passages) else None
        except (ValidationError, ValueError):
            return None

    @classmethod
    def _of_open(cls, descriptor: int, size: int) -> Self:
        digest, is_text = hashlib.sha256(), True
        for chunk in read_chunks(descriptor, size, "the reference"):
            digest.update(chunk)
            is_text = is_text and b"\0" not in chunk
        beginning = os.pread(descriptor, 64, 0)
        loaded = min(_loaded_bytes(descriptor, beginning) or size, size)
        return cls(
            sha256=digest.hexdigest(),
            size=size,
            loaded=loaded,
            text=is_text,
            beginning=beginning[:16].hex(),
            passages=tuple(_passages(descriptor, loaded, is_text=is_text)),
        )


def _loaded_bytes(descriptor: int, beginning: bytes) -> int:
    """Return where the last segment that is loaded ends, for an ELF file of 64 bits, little end first; 0 for others.

    Layout of the headers: "Tool Interface Standard: ELF", chapter 1, and its 64-bit extension.
    """
    if not beginning.startswith(b"\x7fELF\x02\x01") or len(beginning) < 64:
        return 0
    (table,), (entry, count) = struct.unpack_from("<Q", beginning, 32), struct.unpack_from("<HH", beginning, 54)
    if entry < 56:
        return 0
    data = os.pread(descriptor, min(entry * count, _MOST_HEADERS), min(table, 2**62))
    headers = (struct.unpack_from("<I4xQ16xQ", data, at) for at in range(0, len(data) - 55, entry))
    return max((offset + size for kind, offset, size in headers if kind == 1), default=0)


def _passages(descriptor: int, size: int, *, is_text: bool) -> Iterator[Passage]:
    """Take the first distinctive piece of each stretch.

    In a compiled program a piece must not be plain text: the help texts that a faithful rebuild repeats prove nothing.
    """
    length = _LONG if size >= _LONG_FROM else _SHORT
    count = min(_PASSAGES, size // length)
    seen = set()
    for number in range(count):
        start, end = size * number // count, size * (number + 1) // count
        stretch = os.pread(descriptor, min(end - start, _SEARCHED_BYTES), start)
        for at in range(0, len(stretch) - length + 1, 8):
            piece = stretch[at : at + length]
            if _is_distinctive(piece, is_text=is_text) and piece not in seen:
                seen.add(piece)
                yield Passage(at=start + at, hex=piece.hex())
                break


def _is_distinctive(piece: bytes, *, is_text: bool) -> bool:
    enough_values = len(set(piece)) * 4 >= len(piece)
    return enough_values and (is_text or len(piece.translate(None, _TEXT)) * 4 >= len(piece))
