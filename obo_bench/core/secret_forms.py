"""The forms in which a secret comes back in foreign text: escaped, quoted, encoded."""

import base64
import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST_ENCODED = 8
_SHORTEST_LINE = 16
"""Characters of a line of a secret (a private key) that is a secret by itself."""
_ALIGNMENTS = ((0, 0), (1, 2), (2, 3))
"""Bytes of other text in the first group of base64, and the characters that they have a part in."""
_LOOSE_END = (0, 3, 2)
"""Characters at the end of base64 that depend on what follows, by the number of bytes in the last group."""


def forms_of(secret: str) -> set[str]:
    """Return `secret` and the forms in which JSON, URLs, shells, HTML, Python and Basic authentication write it."""
    lines = [line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE] if "\n" in secret else []
    return {form for text in (secret, *lines) for form in (text, *_escaped(text), *_encoded(text))}


def _escaped(text: str) -> Iterator[str]:
    # Its table of entities takes long to load, and most commands look for no secret.
    import html

    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        # JSON within a string of JSON, as in an echoed request.
        yield from (once, json.dumps(once, ensure_ascii=ascii_only)[1:-1])
    yield from (repr(text)[1:-1], html.escape(text), shlex.quote(text).removeprefix("'").removesuffix("'"))
    for safe in ("", "/", "!*'()/:,;@&=+$?-_.~"):
        for quoted in (quote(_bytes(text), safe=safe), quote_plus(_bytes(text), safe=safe)):
            yield from (quoted, _lower_escapes(quoted))


def _encoded(text: str) -> Iterator[str]:
    """Yield the base64 and the hexadecimal digits that the text has wherever it stands in a longer one."""
    data = _bytes(text)
    for before, shared in _ALIGNMENTS:
        padded = b"\0" * before + data
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(padded).decode()
            form = encoded[shared : len(encoded) - _LOOSE_END[len(padded) % 3]]
            if len(form) >= _SHORTEST_ENCODED:
                yield form
    yield from (data.hex(), data.hex().upper())


def _lower_escapes(quoted: str) -> str:
    head, *rest = quoted.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
