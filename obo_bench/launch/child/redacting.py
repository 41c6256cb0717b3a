"""Take secrets out of a stream of bytes as it comes, wherever the pieces are cut, and keep all other bytes."""

import re
from collections.abc import Iterator

from obo_bench.core.redact import Redactor

LONGEST_LINE = 64 * 1024
"""Bytes of a line that are looked at together; a longer one is divided where no secret is cut."""
_TAIL = 8 * 1024
"""Bytes at the end of such a part that wait for what follows: more than any secret has."""
_STEP = 512
_ENDS = re.compile(rb"(?<=[\r\n])")
_WORDLESS = re.compile(r"[^A-Za-z0-9]+")


class RedactingStream:
    """Gives whole lines as soon as they end, by newline or carriage return, and of the last one what is safe to show.

    A line is always looked at as a whole, so that a secret that arrives in two pieces is one secret.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._rest = b""
        self._shown = b""

    def feed(self, data: bytes) -> bytes:
        """Take what came, and return the lines that are whole by now, redacted."""
        whole, end, rest = _split(self._rest + data)
        if not end and len(rest) < LONGEST_LINE:
            self._rest = rest
            return b""
        parts = [self._finish(whole)] if end else []
        while len(rest) >= LONGEST_LINE:
            at = self._safe_cut(rest[:LONGEST_LINE])
            parts.append(self._finish(rest[:at]))
            rest = rest[at:]
        self._rest = rest
        return b"".join(parts)

    def idle(self) -> bytes:
        """Return more of the unfinished line, when nothing has come for a moment: progress without a newline.

        The last word is held back, as it may be the beginning of a secret; dots and bars are no words.
        """
        text = _text(self._rest)
        last = text.rsplit(maxsplit=1)[-1] if text and not text[-1].isspace() else ""
        safe = text if not last or _WORDLESS.fullmatch(last) else text[: len(text) - len(last)]
        shown = _bytes(self._redactor.text(safe))
        if not shown.startswith(self._shown):
            return b""
        new, self._shown = shown[len(self._shown) :], shown
        return new

    def close(self) -> bytes:
        """Return what is left."""
        rest, self._rest = self._rest, b""
        return self._finish(rest) if rest else b""

    def _finish(self, lines: bytes) -> bytes:
        """Return complete lines, less what was shown of the first one."""
        redacted = self._redacted(lines)
        shown, self._shown = self._shown, b""
        if redacted.startswith(shown):
            return redacted[len(shown) :]
        # What followed made a secret of what had been shown: the line is given once more.
        return b"\n" + redacted

    def _redacted(self, lines: bytes) -> bytes:
        text = _text(lines)
        if self._redactor.text(text) == text:
            return lines
        # Line by line, so that no two of them are taken for one assignment.
        return b"".join(_bytes(self._redactor.text(_text(line))) for line in _ENDS.split(lines))

    def _safe_cut(self, part: bytes) -> int:
        """Return where a line that is too long can be divided: the halves by themselves must be redacted alike."""
        whole = self._redactor.text(_text(part))
        for at in _cuts(part):
            if self._redactor.text(_text(part[:at])) + self._redactor.text(_text(part[at:])) == whole:
                return at
        return len(part)


def _split(data: bytes) -> tuple[bytes, bool, bytes]:
    """Return the complete lines, whether there are any, and the rest."""
    at = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    return data[:at], at > 0, data[at:]


def _cuts(part: bytes) -> Iterator[int]:
    blank = part.rfind(b" ", 0, len(part) - _TAIL)
    if blank > 0:
        yield blank + 1
    yield from range(len(part) - _TAIL, _TAIL, -_STEP)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
