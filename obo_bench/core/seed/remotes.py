"""Name the remotes of a checkout without the secrets that people keep in their addresses."""

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from obo_bench.core.git import Setting
from obo_bench.core.redact import MASK

_REMOTE_URL = re.compile(r"remote\.(?P<name>.+)\.(?:push)?url", re.DOTALL)
_ANY_URL = re.compile(r"(?:remote|url)\..+", re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_HELPER = re.compile(r"(?P<helper>[A-Za-z0-9][A-Za-z0-9+.-]*)::.*", re.DOTALL)
_SCP_USERINFO = re.compile(r"[^/@:]+:[^/@]*@")


def remotes(config: Sequence[Setting]) -> dict[str, str]:
    """Return each remote's first address without user information, query and fragment (scp-like ones as they are)."""
    found: dict[str, str] = {}
    for name, value in config:
        if remote := _REMOTE_URL.fullmatch(name):
            found.setdefault(remote["name"], without_secrets(value))
    return found


def without_secrets(url: str) -> str:
    """Return an address of a remote as it may be recorded."""
    if helper := _HELPER.fullmatch(url):
        # What follows may be a whole command line (`ext::`).
        return f"{helper['helper']}::{MASK}"
    if "://" not in url:
        return _SCP_USERINFO.sub("", url, count=1)
    scheme = url.partition("://")[0]
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        _ = parts.port
    except ValueError:
        # A password with an unescaped slash ends up where the port belongs.
        return f"{scheme}://{MASK}"
    return f"{scheme}://{host}{parts.path}"


def secrets_of(config: Sequence[Setting]) -> list[str]:
    """Return what may be a secret in the remotes, rewritten addresses and extra HTTP headers of a configuration."""
    found: list[str] = []
    for name, value in config:
        if _ANY_URL.fullmatch(name):
            for url in _URL.findall(f"{name.partition('.')[2]} {value}"):
                found += _secrets_in(url)
        elif name.startswith("http.") and name.endswith(".extraheader"):
            found.append(value.rpartition(" ")[2])
    return [secret for secret in found if secret]


def _secrets_in(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url.partition("://")[2].rpartition("@")[0]]
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [value for _, value in parse_qsl(parts.query)]
    if password:
        values.append(password)
    elif parts.scheme in {"http", "https"}:
        # A token alone takes the user's place.
        values.append(user)
    return [form for value in values for form in {value, unquote(value)}]
