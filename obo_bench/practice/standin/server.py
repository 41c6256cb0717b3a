"""The sockets of the stand-in: HTTP/1.1 with kept connections, one thread for each."""

import errno
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from obo_bench.practice.standin.config import HIGHEST_PORT
from obo_bench.practice.standin.gateway import Answer, Request, parse_target

BODY_LIMIT = 64 * 1024 * 1024
"""Bytes of a request body that are read; the server itself knows no limit, but a stand-in need not."""

PORTS_TRIED = 10
"""The wanted port and the nine after it."""

_IDLE_SEC = 60.0
_GOODBYE_SEC = 2.0


class Listener(ThreadingHTTPServer):
    """A listening socket and the connections made through it."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int) -> None:
        """Bind `port`, or the next free one of the nine above it; raises OSError."""
        self.answer: Callable[[Request], Answer] = _unborn
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        last = min(port + PORTS_TRIED - 1, HIGHEST_PORT)
        for candidate in range(port, last + 1):
            try:
                super().__init__((host, candidate), Handler)
            except OSError as error:
                if port == 0 or candidate == last or error.errno != errno.EADDRINUSE:
                    raise
            else:
                break

    def server_bind(self) -> None:
        """Bind without asking a name server who we are."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, remembered for as long as it is open."""
        with self._lock:
            self._open.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that went away."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        """Close the listening socket and every connection."""
        self.server_close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        end = time.monotonic() + _GOODBYE_SEC
        while self._open and time.monotonic() < end:
            time.sleep(0.01)


class Handler(BaseHTTPRequestHandler):
    """Reads requests from one connection and writes the answers."""

    server: Listener
    protocol_version = "HTTP/1.1"
    server_version = "obo-bench-stand-in"
    sys_version = ""
    timeout = _IDLE_SEC
    disable_nagle_algorithm = True

    def handle_any(self) -> None:
        """Answer one request of any method."""
        body = self._body()
        if body is None:
            return
        path, query = parse_target(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, path, query, headers, str(self.client_address[0]), body)
        answer = self.server.answer(request)
        if answer.cut_after is not None:
            self.close_connection = True
        if answer.cut_after == 0:
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self._send_whole(answer.body, answer.cut_after)
        else:
            self._send_stream(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Write nothing: the log of accepted tasks is the record."""

    def _body(self) -> bytes | None:
        """Read the body; None when it has no known or acceptable length, which is answered here."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.send_error(411)
        elif int(length) > BODY_LIMIT:
            self.send_error(413)
        else:
            return self.rfile.read(int(length))
        self.close_connection = True
        return None

    def _send_whole(self, body: bytes, cut_after: int | None) -> None:
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut_after])

    def _send_stream(self, chunks: Iterator[bytes]) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self.command == "HEAD":
            return
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")


def _unborn(_: Request) -> Answer:
    return Answer(503, b"", "text/plain; charset=utf-8")
