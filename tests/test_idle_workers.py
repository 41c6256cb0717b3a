"""The server's idle workers, handed out one at a time, so that no submission waits in its queue."""

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.errors import GatewayUnreachable
from obo_bench.programbench.solving import idle_workers
from obo_bench.programbench.solving.idle_workers import IdleWorkers, NoWorkers


class Server:
    """As much of an admitted server as the turnstile asks."""

    def __init__(self, idle: int) -> None:
        self.idle, self.client, self.confirmed = idle, self, 0

    def state(self) -> Any:
        if self.idle < 0:
            raise GatewayUnreachable("away")
        return SimpleNamespace(ready=True, idle_workers=self.idle)

    def confirm(self, closed: threading.Event) -> bool:
        self.confirmed += 1
        self.idle = 1
        return not closed.is_set()


def test_a_submission_that_hangs_takes_one_worker_and_no_more() -> None:
    turnstile, server, closed = IdleWorkers(), cast("Any", Server(idle=2)), threading.Event()
    hanging, release, second = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        with turnstile.reserve(server, closed, SilentReporter()) as got:
            assert got
            hanging.set()
            release.wait(20)

    def third() -> None:
        with turnstile.reserve(server, closed, SilentReporter()):
            second.set()

    thread = threading.Thread(target=hang)
    thread.start()
    assert hanging.wait(20)
    with turnstile.reserve(server, closed, SilentReporter()) as got:
        assert got
        waiting = threading.Thread(target=third)
        waiting.start()
        # Both idle workers are spoken for, whatever the server says of the tasks that it has not seen yet.
        assert not second.wait(1.5)
    assert second.wait(20)
    release.set()
    thread.join(20)
    waiting.join(20)


def test_nobody_waits_for_a_worker_once_the_run_is_closed() -> None:
    turnstile, server, closed = IdleWorkers(), cast("Any", Server(idle=0)), threading.Event()
    answers: list[bool] = []

    def wait() -> None:
        with turnstile.reserve(server, closed, SilentReporter()) as got:
            answers.append(got)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    closed.set()
    for thread in threads:
        thread.join(20)
    assert answers == [False, False, False]


def test_a_server_that_cannot_tell_its_load_is_asked_who_it_is() -> None:
    server = Server(idle=-1)
    with IdleWorkers().reserve(cast("Any", server), threading.Event(), SilentReporter()) as got:
        assert got
    assert server.confirmed == 1


class Unready(Server):
    """A server that says who it is, and takes no task."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__(idle=0)
        self.answers = answers

    def state(self) -> Any:
        if not self.answers:
            raise GatewayUnreachable("no state")
        return SimpleNamespace(ready=False, idle_workers=0)

    def confirm(self, closed: threading.Event) -> bool:
        return not closed.is_set()


class Heard(SilentReporter):
    """What an operator is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, text: str, subject: str = "") -> None:
        del subject
        self.lines.append(text)


@pytest.mark.parametrize("answers", [True, False])
def test_a_server_that_never_gets_ready_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr(idle_workers, "UNREADY_SEC", 0.4)
    monkeypatch.setattr(idle_workers, "POLL_SEC", 0.02)
    turnstile, server, heard = IdleWorkers(), cast("Any", Unready(answers=answers)), Heard()
    for _ in range(2):
        with pytest.raises(NoWorkers, match="takes no task"):
            turnstile.reserve(server, threading.Event(), heard).__enter__()
    assert 1 <= len(heard.lines) <= 2


def test_a_server_that_is_only_busy_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_workers, "UNREADY_SEC", 0.1)
    server = Server(idle=0)
    threading.Timer(0.6, setattr, (server, "idle", 1)).start()
    with IdleWorkers().reserve(cast("Any", server), threading.Event(), SilentReporter()) as got:
        assert got
