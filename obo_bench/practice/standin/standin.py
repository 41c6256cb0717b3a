"""A whole stand-in gateway: to be started and stopped by a program, or served in the foreground until a signal."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from obo_bench.practice.standin.config import StandInConfig
from obo_bench.practice.standin.faulty import FaultyGateway
from obo_bench.practice.standin.gateway import Gateway
from obo_bench.practice.standin.server import Listener
from obo_bench.practice.standin.solver import TaskSource, known_task
from obo_bench.practice.standin.supervisor import Supervisor

_POLL_SEC = 0.05


class StandIn:
    """A local server that speaks the recorded contract; its scores mean nothing.

    The data directory holds its state: a stand-in started again on it knows the tasks of the one before.
    """

    def __init__(self, config: StandInConfig, task_source: TaskSource = known_task) -> None:
        """Raises UsageError for a configuration that cannot work; touches nothing yet."""
        config.check()
        self._config = config
        self._version = config.runtime_version()
        self._task_source = task_source
        self._running: tuple[Supervisor, Listener, threading.Thread] | None = None

    def start(self) -> str:
        """Bind, serve in threads of its own, and return the base URL; raises OSError when no port is free."""
        supervisor = Supervisor(self._config, self._task_source)
        listener = Listener(self._config.host, self._config.port)
        port = listener.server_port
        gateway = Gateway(self._config, supervisor, self._version, port)
        listener.answer = FaultyGateway(gateway.answer, supervisor.faults, supervisor.stopping.wait).answer
        supervisor.store.save_port(port)
        supervisor.start()
        thread = threading.Thread(target=listener.serve_forever, args=(_POLL_SEC,), daemon=True)
        thread.start()
        self._running = supervisor, listener, thread
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"http://{host}:{port}"

    def stop(self) -> None:
        """Go down in an orderly way: running and waiting tasks end cancelled, connections are closed."""
        if self._running is None:
            return
        supervisor, listener, thread = self._running
        self._running = None
        supervisor.stop()
        listener.shutdown()
        thread.join()
        listener.hang_up()


def serve(config: StandInConfig, announce: Callable[[str], None], advise: Callable[[str], None] | None = None) -> None:
    """Serve in the foreground until SIGINT or SIGTERM; `announce` is given the base URL once it is served.

    It is also given a note when the wanted port was taken: like the real server, this one moves to the next free one.
    `advise` is given the URL after that.

    To be called in the main thread. Raises UsageError and OSError like `StandIn`.
    """
    asked: list[int] = []

    def ask(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    stand_in = StandIn(config)
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        url = stand_in.start()
        announce(url)
        if config.port and not url.endswith(f":{config.port}"):
            announce(f"note: port {config.port} is taken, so another one is served: give --ouroboros-url {url}")
        if advise is not None:
            advise(url)
        # No endless wait on a lock: a signal that another thread receives would not end it.
        while not asked:
            time.sleep(_POLL_SEC)
    finally:
        stand_in.stop()
        for number, handler in before.items():
            signal.signal(number, handler)
