"""What a copy of a program may be wrapped in, recognised where it begins and unwrapped as the bytes come.

Known: gzip, bzip2, xz, the members of zip files, base64, and hexadecimal digits as `xxd` or a C array have them. A tar
archive holds its members as they are, so it needs no unwrapping. Formats that the standard library cannot read are only
recognised.
"""

import binascii
import bz2
import lzma
import re
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

PIECE = 1 << 18
"""Most bytes that a decoder yields at a time."""
SEALED = (b"7z\xbc\xaf\x27\x1c", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"Rar!\x1a\x07", b"\x1f\x9d")
"""How files begin that can't be looked into: 7-Zip, zstd, LZ4, RAR, compress."""

_XZ_MEMORY = 1 << 27
"""Bytes that unpacking xz may take; its highest preset takes half."""
_ZIP_MEMBER = struct.Struct("<4xHHH16xHH")
_ZIP_VERSIONS = range(10, 64)
_ZIP_SEALED = frozenset({9, 14, 93, 95, 98, 99})
"""Methods of zip for which there is no decoder here: Deflate64, LZMA, zstd, xz, PPMd, AES."""
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NO_BASE64 = bytes(sorted(set(range(256)) - set(_BASE64)))
_DIGITS = b"0123456789abcdefABCDEF"
_NO_DIGITS = bytes(sorted(set(range(256)) - set(_DIGITS)))
_WHOLE = 256
"""Bytes at the beginning of a file by which it counts as nothing but encoded data."""


class UndecodableError(ValueError):
    """What looked like the beginning of an encoding was none, or is damaged."""


class SealedError(UndecodableError):
    """It is an encoding, but not one that can be looked into: encrypted, of another method, or too large."""


class Decoder(ABC):
    """Unwraps one stream whose beginning was found."""

    ended = False
    """The stream came to its own end."""

    @abstractmethod
    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes of the stream hold, in pieces of bounded size; raises UndecodableError."""


class _Inflate(Decoder):
    """Deflate in a gzip (31) or no (-15) envelope."""

    def __init__(self, window: int) -> None:
        self._unpacker = zlib.decompressobj(window)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self.ended:
            try:
                piece = self._unpacker.decompress(data, PIECE)
            except zlib.error as error:
                raise UndecodableError from error
            data, self.ended = self._unpacker.unconsumed_tail, self._unpacker.eof
            yield piece


class _Unpacker(Protocol):
    """What the standard library's decompressors have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Unpack(Decoder):
    """bzip2 or xz."""

    def __init__(self, make: Callable[[], _Unpacker]) -> None:
        self._unpacker = make()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while not self.ended:
            try:
                piece = self._unpacker.decompress(data, PIECE)
            except (OSError, ValueError) as error:
                raise UndecodableError from error
            except lzma.LZMAError as error:
                # The library tells its reasons apart only in words; programs that know xz hold its mark, too.
                raise SealedError if "emory" in str(error) else UndecodableError from error
            self.ended = self._unpacker.eof
            yield piece
            if self._unpacker.needs_input:
                return
            data = b""


class _ZipMember(Decoder):
    """One member of a zip file, from its local header on; one that is stored as it is needs no unwrapping."""

    _MAKERS: dict[int, Callable[[], Decoder]] = {  # noqa: RUF012 - methods by their number in the format
        8: partial(_Inflate, -15),
        12: partial(_Unpack, bz2.BZ2Decompressor),
    }

    def __init__(self) -> None:
        self._header = b""
        self._content: Decoder | None = None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._content is None:
            self._header += data
            if len(self._header) < 30:
                return
            version, flags, method, name, extra = _ZIP_MEMBER.unpack(self._header[:30])
            if method not in self._MAKERS or flags & 1:
                is_member = version in _ZIP_VERSIONS and (method in _ZIP_SEALED or (flags & 1 and name))
                raise SealedError if is_member else UndecodableError
            start = 30 + name + extra
            if len(self._header) < start:
                return
            self._content, data, self._header = self._MAKERS[method](), self._header[start:], b""
        yield from self._content.pieces(data)
        self.ended = self._content.ended


class _Base64(Decoder):
    """Base64, whatever stands between its groups; `before` characters of the first group are missing."""

    def __init__(self, before: int = 0) -> None:
        self._rest = b"A" * before

    def pieces(self, data: bytes) -> Iterator[bytes]:
        text = self._rest + data.translate(None, _NO_BASE64)
        whole = len(text) & ~3
        self._rest = text[whole:]
        yield binascii.a2b_base64(text[:whole])


class _Hexadecimal(Decoder):
    """Hexadecimal digits in pairs, with or without `0x` or a backslash and an `x` before them."""

    def __init__(self) -> None:
        self._rest = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        text = self._rest + data
        kept = len(text) - text.endswith((b"0", b"\\"))
        digits = re.sub(rb"0[xX]|\\x", b"", text[:kept]).translate(None, _NO_DIGITS)
        whole = len(digits) & ~1
        self._rest = digits[whole:] + text[kept:]
        yield bytes.fromhex(digits[:whole].decode())


@dataclass(frozen=True)
class Sign:
    """How an encoding is recognised, at any place in a file."""

    mark: bytes
    """The bytes that are looked for."""
    decoder: Callable[[], Decoder]
    """Makes what unwraps the stream."""
    before: int = 0
    """Bytes of the stream that precede the mark."""
    any_case: bool = False
    """The mark is in small letters and stands for capital ones, too."""


_ALIGNED = tuple(partial(_Base64, before) for before in range(4))


def decoders_of_part(beginning: bytes) -> tuple[Callable[[], Decoder], ...]:
    """Return what may unwrap a file that is base64 or digits from its `beginning` on, as a later part of such text is.

    Where the text was cut is not known, so it is read in every way.
    """
    head = beginning[:_WHOLE].translate(None, b"\r\n")
    if len(beginning) < _WHOLE or head.translate(None, _BASE64):
        return ()
    return _ALIGNED if head.translate(None, _DIGITS) else (_Hexadecimal,)


BINARY_SIGNS = (
    Sign(b"\x1f\x8b\x08", partial(_Inflate, 31)),
    # The header says "BZh" and a digit for the block size; the mark is the beginning of the first block.
    Sign(b"1AY&SY", partial(_Unpack, bz2.BZ2Decompressor), before=4),
    Sign(b"\xfd7zXZ\x00", partial(_Unpack, partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY))),
    Sign(b"PK\x03\x04", _ZipMember),
)
"""What begins a compressed stream."""


def text_signs(beginning: bytes) -> tuple[Sign, ...]:
    """Return the signs of text that encodes a program with this `beginning`, or in base64 a compressed stream."""
    heads = [head for head in (beginning[:6], b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\x00", b"PK\x03") if len(head) >= 3]
    base64 = (binascii.b2a_base64(head[: len(head) // 3 * 3], newline=False) for head in heads)
    digits = ((between, head[:4]) for head in heads[:1] for between in (b"", b", 0x", b",0x", b"\\x"))
    return (
        *(Sign(mark, _Base64) for mark in dict.fromkeys(base64)),
        *(Sign(between.join(b"%02x" % byte for byte in head), _Hexadecimal, any_case=True) for between, head in digits),
    )
