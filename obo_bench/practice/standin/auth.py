"""Who may talk to the server: all on loopback; others need the network password, if there is one."""

import base64
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

COOKIE = "ouroboros_auth"
"""The name of the session cookie."""

OPEN_PATHS = frozenset({"/api/health", "/auth/login", "/auth/logout"})
"""Paths that ask nobody."""

_COOKIE_SECONDS = 30 * 24 * 3600


class Gatekeeper:
    """Decides for each request whether it may pass."""

    def __init__(self, password: str | None) -> None:
        """Without a password everybody may pass."""
        self._password = password
        self._session = secrets.token_urlsafe(32)

    def allows(self, path: str, peer: str, headers: Mapping[str, str]) -> bool:
        """Say whether a request from address `peer` may pass."""
        if not self._password or path in OPEN_PATHS or is_loopback(client_address(peer, headers)):
            return True
        return any(_same(shown, self._password) for shown in _shown(headers)) or _same(_cookie(headers), self._session)

    def login(self, password: str) -> str | None:
        """Return the cookie to set for the right password, None for a wrong one."""
        if not self._password or not _same(password, self._password):
            return None
        return f"{COOKIE}={self._session}; HttpOnly; Max-Age={_COOKIE_SECONDS}; Path=/; SameSite=lax"


def client_address(peer: str, headers: Mapping[str, str]) -> str:
    """Return the address a request really comes from: loopback peers are believed what they forward."""
    forwarded = [part.strip() for part in headers.get("x-forwarded-for", "").split(",") if part.strip()]
    if not forwarded or not is_loopback(peer):
        return peer
    return next((part for part in reversed(forwarded) if not is_loopback(part)), forwarded[0])


def is_loopback(address: str) -> bool:
    """Say whether an address is this machine's own; what is no address is not."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _shown(headers: Mapping[str, str]) -> list[str]:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    shown = [headers.get("x-ouroboros-password", "")]
    if scheme.lower() == "bearer":
        shown.append(value.strip())
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(value, validate=True).decode("utf-8", "replace")
        except ValueError:
            decoded = ""
        shown.append(decoded.partition(":")[2])
    return shown


def _cookie(headers: Mapping[str, str]) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _same(shown: str, expected: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), expected.encode("utf-8", "replace"))
