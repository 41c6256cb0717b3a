"""Keep secrets out of every file and screen: known by value, by name, and by their place in a URL."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

_SECRET_NAME = re.compile(r"(?i)(api_?key|token|secret|passw(or)?d|credential)")
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]+@")
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>[\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d|credential)[\w-]*)(?P<sep>=)\S+"
)
_BEARER = re.compile(r"(?i)\b(?P<kind>bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_SHORTEST_SECRET = 6
"""Values shorter than this are too common in ordinary text to be replaced everywhere."""

MASK = "[redacted]"


_process: list["Redactor"] = []


def process_redactor() -> "Redactor":
    """Return the one redactor of this process: what any part learns, no part shows."""
    if not _process:
        _process.append(Redactor.from_environment())
    return _process[0]


def is_secret_name(name: str) -> bool:
    """Say whether a setting or variable of this name holds a secret."""
    return bool(_SECRET_NAME.search(name))


class Redactor:
    """Replaces secrets in text; grows as more are learnt (settings read after the first manifest was written)."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self.learn(values)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Redactor":
        """Know every value of the environment whose name says that it is a secret."""
        found = os.environ if environ is None else environ
        return cls(value for name, value in found.items() if is_secret_name(name))

    def learn(self, values: Iterable[str]) -> None:
        """Remember further secret values."""
        self._values.update(value for value in values if len(value) >= _SHORTEST_SECRET)

    def text(self, text: str) -> str:
        """Return `text` without any known secret, URL userinfo or secret-looking assignment."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, MASK)
        text = _USERINFO.sub(rf"\g<scheme>{MASK}@", text)
        text = _ASSIGNMENT.sub(rf"\g<name>\g<sep>{MASK}", text)
        return _BEARER.sub(rf"\g<kind> {MASK}", text)

    def document(self, value: Any) -> Any:
        """Return a JSON-like value with every string redacted, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return value
