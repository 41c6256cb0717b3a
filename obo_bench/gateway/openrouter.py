"""What an OpenRouter key can still spend, as OpenRouter itself says.

Source: the provider's `GET /api/v1/key` (`data.limit_remaining`, `limit`, `usage`; USD) and `GET /api/v1/credits`
(`data.total_credits`, `total_usage`; USD).
"""

import json
import math
import os
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from obo_bench.core.redact import MASK, process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.http import Answer, BoundedHttp

DEFAULT_URL = "https://openrouter.ai/api/v1"
URL_VARIABLE = "OBO_BENCH_OPENROUTER_URL"
"""Names another base address: a proxy of one's own, or a test's server."""
KEY_NAME = "OPENROUTER_API_KEY"
DEADLINE_SEC = 30.0
LARGEST_ANSWER = 1024 * 1024
"""Bytes; a real answer has some hundred."""
_SHOWN = 300


class BalanceUnreadable(RuntimeError):
    """The account's balance could not be read; it is only ever a second bound."""


def openrouter_key_remaining(
    key: str, *, base_url: str | None = None, environ: Mapping[str, str] = os.environ
) -> float | None:
    """Return how many USD `key` may still spend (below zero when overdrawn), or None when it has no limit of its own.

    None is neither 0 nor plenty: the account behind the key still bounds it. Raises PreflightRefused
    `budget_unreadable` when the key is refused or the answer cannot be understood; the key is never shown.
    """
    url = _base_url(base_url, environ)
    try:
        return _remaining(_ask(url, "/key", _usable(key)))
    except GatewayError as error:
        remedy = f"check the network, the proxy and {URL_VARIABLE}, or leave --min-budget-usd out"
        _refuse(key, url, f"{url}/key: {error}", remedy)
    except ValueError as error:
        _refuse(key, url, f"{url}/key: {error}")


def openrouter_account_balance(
    key: str, *, base_url: str | None = None, environ: Mapping[str, str] = os.environ
) -> float:
    """Return the balance of the account behind `key` in USD; raises BalanceUnreadable."""
    url = _base_url(base_url, environ)
    try:
        data = _ask(url, "/credits", _usable(key))
        return _usd(data, "total_credits") - _usd(data, "total_usage")
    except (GatewayError, ValueError) as error:
        raise BalanceUnreadable(_without(key, str(error))) from None


def _remaining(data: Mapping[str, Any]) -> float | None:
    """`limit_remaining` has the last word: it knows of resets that `usage`, which only grows, does not."""
    if data.get("limit_remaining") is not None:
        return _usd(data, "limit_remaining")
    if "limit" not in data:
        raise ValueError("neither limit_remaining nor limit is in the answer")
    return None if data["limit"] is None else _usd(data, "limit") - _usd(data, "usage")


def _usd(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is no amount but of the type {type(value).__name__}")
    try:
        amount = float(value)
    except OverflowError:
        amount = math.inf
    if not math.isfinite(amount):
        raise ValueError(f"{name} is no finite amount")
    return amount


def _ask(url: str, path: str, key: str) -> Mapping[str, Any]:
    with _open(url, key) as http:
        answer = http.exchange("GET", path, limit=LARGEST_ANSWER)
    if answer.status != 200:
        raise ValueError(f"answered {answer.status}: {_without(key, _error_text(answer))[:_SHOWN]}")
    value = _json(answer)
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        raise ValueError("the answer has no object `data`")
    return data


def _open(url: str, key: str) -> BoundedHttp:
    """Prepare for an outside address: proxies and certificates of the environment are meant for it."""
    headers = {"Authorization": f"Bearer {key}"}
    try:
        return BoundedHttp(url, deadline_sec=DEADLINE_SEC, headers=headers, trust_env=True)
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"the proxy or certificates that the environment names cannot be used: {error}") from None


def _json(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise ValueError("the answer is not JSON") from None


def _error_text(answer: Answer) -> str:
    try:
        return str(json.loads(answer.body)["error"]["message"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return answer.body.decode("utf-8", "replace")


def _usable(key: str) -> str:
    process_redactor().learn([key, key.strip()])
    stripped = key.strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise ValueError("the key is blank or holds characters that no key has")
    return stripped


def _base_url(explicit: str | None, environ: Mapping[str, str]) -> str:
    url = (explicit or environ.get(URL_VARIABLE) or DEFAULT_URL).strip().rstrip("/")
    try:
        good = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:
        good = False
    if not good:
        raise PreflightRefused(
            "budget_unreadable",
            f"{URL_VARIABLE} {url!r} is not an http:// or https:// address",
            evidence={"base_url": url},
            remedy=f"correct or unset {URL_VARIABLE}",
        )
    return url


def _refuse(key: str, url: str, why: str, remedy: str | None = None) -> NoReturn:
    why = _without(key, why)
    raise PreflightRefused(
        "budget_unreadable",
        f"what the OpenRouter key may still spend cannot be read: {why}",
        evidence={"base_url": url, "why": why},
        remedy=remedy,
    ) from None


def _without(key: str, text: str) -> str:
    """Return `text` without the key, however short: a remote error may repeat it."""
    return text.replace(key.strip(), MASK) if key.strip() else text
