"""The bounded exchange against real sockets that behave badly: every phase has one deadline, every answer a type."""

import gzip
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from types import FrameType

import pytest

from obo_bench.gateway.errors import GatewayAnswerInvalid, GatewayError, GatewayUnreachable
from obo_bench.gateway.http import BoundedHttp, json_object
from tests.conftest import answering
from tests.raw_server import bytewise, deaf_server, endless, http, raw_server

HEAD = b"HTTP/1.1 200 OK\r\n"
DRIP_SEC = 0.05
DEADLINE_SEC = 0.6

Serving = Callable[[], AbstractContextManager[str]]


def drip(answer: bytes) -> Serving:
    return lambda: raw_server(*bytewise(answer), pause=DRIP_SEC)


@pytest.mark.parametrize(
    "serving",
    [
        pytest.param(deaf_server, id="connecting"),
        pytest.param(lambda: raw_server(b"", pause=30), id="silence"),
        pytest.param(drip(b"HTTP/1.1 200 " + b"O" * 1000), id="status line"),
        pytest.param(drip(HEAD + b"X-Long: " + b"a" * 1000), id="one header"),
        pytest.param(lambda: raw_server(*[HEAD, *[b"X-Many: 1\r\n"] * 1000], pause=DRIP_SEC), id="many headers"),
        pytest.param(drip(HEAD + b"Content-Length: 1000\r\n\r\n" + b" " * 1000), id="body"),
        pytest.param(
            lambda: raw_server(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\n \r\n"] * 1000, pause=DRIP_SEC),
            id="chunks",
        ),
        pytest.param(lambda: raw_server(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000, pause=DRIP_SEC), id="slow 1xx"),
        pytest.param(lambda: raw_server(script=endless(b"", b"HTTP/1.1 102 Wait\r\n\r\n" * 50)), id="1xx flood"),
    ],
)
def test_one_deadline_holds_in_every_phase(serving: Serving) -> None:
    with serving() as url, BoundedHttp(url, deadline_sec=DEADLINE_SEC) as client:
        started = time.monotonic()
        with pytest.raises(GatewayUnreachable, match=r"no complete answer within 0\.6 s"):
            client.exchange("GET", "/x")
        assert time.monotonic() - started < DEADLINE_SEC + 1


def test_a_request_that_nobody_reads_is_cut_at_the_deadline() -> None:
    with deaf_server() as url, BoundedHttp(url, deadline_sec=DEADLINE_SEC) as client:
        started = time.monotonic()
        with pytest.raises(GatewayUnreachable):
            client.exchange("POST", "/x", content=b"x" * 50_000_000)
        assert time.monotonic() - started < DEADLINE_SEC + 1


def test_a_long_poll_gets_its_extra_time() -> None:
    with raw_server(b"", http("200 OK", b"late"), pause=0.8) as url, BoundedHttp(url, deadline_sec=0.3) as client:
        assert client.exchange("GET", "/x", extra_sec=5).body == b"late"


NO_ANSWERS: dict[str, tuple[Serving, type[GatewayError], str]] = {
    "nothing": (lambda: raw_server(b""), GatewayUnreachable, "without sending a response"),
    "another protocol": (lambda: raw_server(b"SSH-2.0-OpenSSH\r\n"), GatewayUnreachable, "without sending a response"),
    "half a status line": (lambda: raw_server(b"HTTP/1.1 200"), GatewayUnreachable, "without sending a response"),
    "cut in the body": (
        lambda: raw_server(HEAD + b"Content-Length: 9\r\n\r\n{}"),
        GatewayUnreachable,
        "without sending complete message body",
    ),
    "no length": (lambda: raw_server(HEAD + b"Content-Length: x\r\n\r\n{}"), GatewayUnreachable, "bad Content-Length"),
    "endless headers": (
        lambda: raw_server(script=endless(HEAD, b"X-Many: 1\r\n" * 500)),
        GatewayUnreachable,
        "buffer too long",
    ),
    "endless body": (
        lambda: raw_server(script=endless(HEAD + b"Connection: close\r\n\r\n", b" " * 65536)),
        GatewayAnswerInvalid,
        "more than 1000000 bytes",
    ),
    "compressed": (
        lambda: raw_server(http("200 OK", gzip.compress(b"{}"), "Content-Encoding: gzip")),
        GatewayAnswerInvalid,
        "the encoding 'gzip'",
    ),
    "compressed twice": (
        lambda: raw_server(http("500 Oops", b"", "Content-Encoding: br, gzip")),
        GatewayAnswerInvalid,
        "the encoding 'br, gzip'",
    ),
    "redirect": (
        lambda: raw_server(http("302 Found", b"", "Location: http://127.0.0.1:1/")),
        GatewayAnswerInvalid,
        "redirects to 'http://127.0.0.1:1/'",
    ),
    "redirect to nowhere": (lambda: raw_server(http("308 Moved", b"{}")), GatewayAnswerInvalid, "redirects to ''"),
}


@pytest.mark.parametrize(("serving", "error", "said"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_usable_answer_is_typed_and_names_its_cause(
    serving: Serving, error: type[GatewayError], said: str
) -> None:
    with serving() as url, BoundedHttp(url, deadline_sec=20) as client, pytest.raises(error) as raised:
        client.exchange("GET", "/x", limit=1_000_000)
    assert said in str(raised.value)
    assert f"GET {url}/x" in str(raised.value)


def test_a_refused_connection_says_so_in_plain_words() -> None:
    with BoundedHttp("http://127.0.0.1:1", deadline_sec=5) as client, pytest.raises(GatewayUnreachable) as raised:
        client.exchange("GET", "/x")
    assert str(raised.value) == "GET http://127.0.0.1:1/x: Connection refused"


@pytest.mark.parametrize(
    "address", ["http://[::1", "ftp://x", "http://a b", "http://x:99999", "//x", "http://" + "a" * 70]
)
def test_an_address_that_is_none_is_typed(address: str) -> None:
    with BoundedHttp(address, deadline_sec=5) as client, pytest.raises(GatewayUnreachable):
        client.exchange("GET", "/x")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'"x"', b"{", b"\xff\xfe{", b"[" * 100_000, b'{"a":' * 100_000]
)
def test_a_body_that_is_no_json_object_is_typed(body: bytes) -> None:
    with raw_server(http("200 OK", body)) as url, BoundedHttp(url, deadline_sec=5) as client:
        answer = client.exchange("GET", "/x")
    with pytest.raises(GatewayAnswerInvalid, match="the health did not answer with"):
        json_object(answer, "the health")


def test_an_answer_may_be_exactly_as_large_as_the_limit() -> None:
    with raw_server(http("404 Not Found", b"four")) as url, BoundedHttp(url, deadline_sec=5) as client:
        answer = client.exchange("GET", "/x", limit=4)
        assert (answer.status, answer.body, answer.headers["content-length"]) == (404, b"four", "4")
        with pytest.raises(GatewayAnswerInvalid):
            client.exchange("GET", "/x", limit=3)


@pytest.mark.parametrize("secret", ["sk-\nsecret", "sk-\x00secret", "sk-süß-secret"])
def test_a_header_that_cannot_be_sent_is_not_shown(secret: str) -> None:
    with (
        raw_server(http("200 OK", b"{}")) as url,
        BoundedHttp(url, headers={"Authorization": secret}, deadline_sec=5) as client,
        pytest.raises(GatewayUnreachable) as raised,
    ):
        client.exchange("GET", "/x")
    assert "secret" not in f"{raised.value}"


class Echo(BaseHTTPRequestHandler):
    """Answers after a moment with what it was asked, and keeps the connection as an HTTP/1.1 server does."""

    protocol_version = "HTTP/1.1"
    peers: set[tuple[str, int]]

    def do_GET(self) -> None:
        self.peers.add(self.client_address)
        time.sleep(0.01)
        body = f"{self.path} {self.headers['Accept-Encoding']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_many_threads_share_a_client_and_no_connection_is_used_twice() -> None:
    peers: set[tuple[str, int]] = set()
    handler = type("Kept", (Echo,), {"peers": peers})
    paths = [f"/{number}" for number in range(320)]
    with (
        answering(handler) as place,
        BoundedHttp(f"http://{place}/", deadline_sec=30) as client,
        ThreadPoolExecutor(32) as pool,
    ):
        bodies = list(pool.map(lambda path: client.exchange("GET", path).body, paths))
    assert bodies == [f"{path} identity".encode() for path in paths]
    assert len(peers) == 320


def test_only_an_outside_address_takes_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with raw_server(http("200 OK", b"direct")) as url, raw_server(http("200 OK", b"proxy")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        for trust_env, body in ((False, b"direct"), (True, b"proxy")):
            with BoundedHttp(url, deadline_sec=5, trust_env=trust_env) as client:
                assert client.exchange("GET", "/x").body == body


def test_closing_ends_what_is_under_way_and_refuses_what_comes_later() -> None:
    before = set(threading.enumerate())
    with raw_server(b"", pause=60) as url, ThreadPoolExecutor(4) as pool:
        client = BoundedHttp(url, deadline_sec=60)
        waiting = [pool.submit(client.exchange, "GET", "/x") for _ in range(4)]
        time.sleep(0.3)
        client.close()
        for future in waiting:
            assert isinstance(future.exception(timeout=5), GatewayUnreachable)
        with pytest.raises(GatewayUnreachable, match="closed on our side"):
            client.exchange("GET", "/x")
        client.close()
    assert "http" not in {thread.name for thread in set(threading.enumerate()) - before}


class Rung(BaseException):
    pass


def test_a_signal_does_not_wait_for_the_answer() -> None:
    def ring(_signum: int, _frame: FrameType | None) -> None:
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with raw_server(b"", pause=60) as url, BoundedHttp(url, deadline_sec=60) as client:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            started = time.monotonic()
            with pytest.raises(Rung):
                client.exchange("GET", "/x")
            assert time.monotonic() - started < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
