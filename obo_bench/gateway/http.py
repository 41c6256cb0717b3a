"""One bounded HTTP exchange: the only module that imports httpx.

httpx limits each read, so a peer that sends one byte at a time is never cut off. Here one deadline covers name
resolution, connecting, sending, the status line, every header and the body: the exchange runs in an event loop of its
own, where all of them can be cancelled. Each exchange has its own connection, because a kept one may be closed by the
server just when a submission is sent, which nobody could tell from a submission that arrived. No redirect and no
compression is taken, and a proxy only where one is asked for.
"""

import asyncio
import os
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from obo_bench.gateway.errors import GatewayAnswerInvalid, GatewayUnreachable
from obo_bench.gateway.foreign_json import parse

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes; the record of a six-hour task has some MB."""
_SHOWN = 200
"""Characters of foreign text in a message."""


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int
    """HTTP status; never a redirect."""
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes
    """As sent: no encoding was taken."""


class BoundedHttp:
    """Speaks to one address; a context manager, safe to share between threads.

    `deadline_sec` is the whole time of an exchange. `trust_env` takes proxies and certificates from the environment.
    """

    def __init__(
        self, base_url: str, *, deadline_sec: float, headers: Mapping[str, str] | None = None, trust_env: bool = False
    ) -> None:
        self.base_url = base_url.rstrip("/")
        """The address as given, without a final slash."""
        self._deadline_sec = deadline_sec
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        self._client = httpx.AsyncClient(
            timeout=None,  # `asyncio.timeout` bounds the whole exchange
            trust_env=trust_env,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._open = True
        self._opening = threading.Lock()
        """Held while an exchange is handed to the loop, and while the loop is told to end."""
        self._thread.start()

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End all exchanges (they raise GatewayUnreachable) and close all connections; may be called again."""
        with self._opening:
            if not self._open:
                return
            self._open = False
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def exchange(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = LARGEST_ANSWER,
        extra_sec: float = 0.0,
    ) -> Answer:
        """Return the answer to one request; `path` follows the base address, `limit` is the body's size in bytes.

        Raises GatewayUnreachable when no complete answer came within the deadline (plus `extra_sec`): whether the
        request arrived is unknown. Raises GatewayAnswerInvalid for a redirect, an encoded or a larger answer.
        """
        where = f"{method} {self.base_url}{path}"
        with self._opening:
            if not self._open:
                raise GatewayUnreachable(f"{where}: the connection was closed on our side")
            future = asyncio.run_coroutine_threadsafe(
                self._bounded(where, self._deadline_sec + extra_sec, limit, method, path, content, headers or {}),
                self._loop,
            )
        try:
            return future.result()
        except CancelledError:
            raise GatewayUnreachable(f"{where}: the connection was closed on our side") from None
        except BaseException:
            # A signal came while we waited: nobody is left to take the answer.
            future.cancel()
            raise

    async def _bounded(
        self,
        where: str,
        seconds: float,
        limit: int,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> Answer:
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(
                    method, self.base_url + path, content=content, headers={**self._headers, **headers}
                ) as response,
            ):
                return await _read(response, limit, where)
        except TimeoutError as error:
            raise GatewayUnreachable(f"{where}: no complete answer within {seconds:g} s") from error
        except httpx.LocalProtocolError:
            # Its text shows the header that cannot be sent, which may be a secret.
            raise GatewayUnreachable(f"{where}: the request is not valid HTTP") from None
        except httpx.TransportError as error:
            raise GatewayUnreachable(f"{where}: {_cause(error)}") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise GatewayUnreachable(f"{where}: {error}") from error

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()


def json_object(answer: Answer, where: str) -> dict[str, Any]:
    """Return the body as a JSON object; raises GatewayAnswerInvalid for anything else."""
    try:
        value = parse(answer.body)
    except (ValueError, RecursionError) as error:
        kind = answer.headers.get("content-type", "no content type")[:_SHOWN]
        raise GatewayAnswerInvalid(f"{where} did not answer with JSON ({kind})") from error
    if not isinstance(value, dict):
        raise GatewayAnswerInvalid(f"{where} did not answer with a JSON object")
    return value


async def _read(response: httpx.Response, limit: int, where: str) -> Answer:
    if 300 <= response.status_code < 400:
        target = response.headers.get("location", "")[:_SHOWN]
        raise GatewayAnswerInvalid(f"{where} redirects to {target!r}; not followed")
    encoding = response.headers.get("content-encoding", "identity")[:_SHOWN]
    if encoding.strip().lower() not in ("identity", ""):
        raise GatewayAnswerInvalid(f"{where} answered with the encoding {encoding!r}, which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            raise GatewayAnswerInvalid(f"{where} answered with more than {limit} bytes")
    return Answer(response.status_code, dict(response.headers), bytes(body))


def _cause(error: BaseException) -> str:
    """Return what the operating system said, which the layers above it word less plainly."""
    inner: BaseException | None = error
    text = ""
    while inner is not None:
        if isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        if isinstance(inner, OSError) and inner.strerror:
            # asyncio replaces the system's text by its own; TLS and name errors have numbers that are not the system's.
            numbered = inner.errno is not None and inner.errno > 0 and not isinstance(inner, ssl.SSLError)
            return os.strerror(inner.errno or 0) if numbered else str(inner.strerror)
        text = text or str(inner)
        inner = inner.__cause__ or inner.__context__
    return text[:_SHOWN] or type(error).__name__
