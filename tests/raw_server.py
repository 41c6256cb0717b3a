"""A server of bytes: says what it is told to every connection, whatever is asked, as badly as it is told."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Script = Callable[[], Iterable[bytes]]


@contextmanager
def raw_server(*parts: bytes, pause: float = 0.0, script: Script | None = None) -> Iterator[str]:
    """Send `parts` (or what `script` makes) with a pause after each, then close; gives the base address."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                for part in script() if script else parts:
                    connection.sendall(part)
                    if done.wait(pause) if pause else done.is_set():
                        return
            except OSError:
                return

    def accept() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=answer, args=(connection,), daemon=True)
            thread.start()
            serving.append(thread)

    serving = [threading.Thread(target=accept, daemon=True)]
    serving[0].start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in serving:
            thread.join(10)


@contextmanager
def deaf_server() -> Iterator[str]:
    """A port whose queue is full, so that no further connection is ever made."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(address)
        try:
            yield f"http://127.0.0.1:{address[1]}"
        finally:
            for each in waiting:
                each.close()


def http(status: str, body: bytes, *headers: str) -> bytes:
    """A whole answer."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers])
    return head.encode() + b"\r\n\r\n" + body


def bytewise(answer: bytes) -> list[bytes]:
    """The same answer, to be sent a byte at a time."""
    return [answer[at : at + 1] for at in range(len(answer))]


def endless(head: bytes, part: bytes) -> Script:
    """An answer without an end."""
    return lambda: itertools.chain([head], itertools.repeat(part))
