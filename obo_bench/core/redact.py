"""Keep secrets out of every file and screen: known by value, by name, and by their place in a URL."""

import os
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from obo_bench.core.secret_search import SecretSearch

_SECRET_NAME = re.compile(r"(?i)(api_?key|token|secret|passw(or)?d|credential)")
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,40}://)[^/\s]+@")
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>(?:api[_-]?key|token|secret|passw(?:or)?d|credential)[\w-]{0,80})"
    r"(?:(?P<sep>=)\S+|(?P<quotes>\\*[\"']\s{0,9}:\s{0,9}\\*[\"'])[^\"'\\\s]{6,})"
)
"""NAME=value, and "name": "value" as JSON within a text has it."""
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


def url_secrets(url: str) -> list[str]:
    """Return the password of an address, as it is written and as it is meant; of a user alone, the user: a token."""
    _, _, rest = url.partition("://")
    user, _, password = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[0].partition(":")
    secret = password or user
    return [secret, unquote(secret)]


class Redactor:
    """Replaces secrets in text; grows as more are learnt (settings read after the first manifest was written)."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._learning = threading.Lock()
        self._search = SecretSearch(())
        self.learn(values)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Redactor":
        """Know every value of the environment whose name says that it is a secret."""
        redactor = cls()
        redactor.learn_environment(os.environ if environ is None else environ)
        return redactor

    def learn_environment(self, environ: Mapping[str, str]) -> None:
        """Remember the values of variables whose names say that they are secrets."""
        self.learn(value for name, value in environ.items() if is_secret_name(name))

    def learn(self, values: Iterable[str]) -> None:
        """Remember further secret values."""
        with self._learning:
            new = {value for value in values if len(value) >= _SHORTEST_SECRET} - self._values
            if new:
                self._values |= new
                # Others go on with the index that they have: it never changes.
                self._search = SecretSearch(self._values)

    def text(self, text: str) -> str:
        """Return `text` without any known secret, URL userinfo or secret-looking assignment."""
        text = self._search.mask(text, MASK)
        if "@" in text:
            text = _USERINFO.sub(rf"\g<scheme>{MASK}@", text)
        if "=" in text or ":" in text:
            text = _ASSIGNMENT.sub(_assigned, text)
        return _BEARER.sub(rf"\g<kind> {MASK}", text)

    def document(self, value: Any) -> Any:
        """Return a JSON-like value with every string redacted, keys included; what is named like a secret is one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._named(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return value

    def _named(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and len(value) >= _SHORTEST_SECRET and is_secret_name(name):
            return MASK
        return self.document(value)


def _assigned(found: re.Match[str]) -> str:
    return f"{found['name']}{found['sep'] or found['quotes']}{MASK}"
