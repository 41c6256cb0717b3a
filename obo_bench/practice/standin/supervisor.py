"""The server's inner life: becomes ready after a while, keeps the workers, looks after orphans."""

import threading

from obo_bench.practice.standin.config import StandInConfig
from obo_bench.practice.standin.events import EventLog
from obo_bench.practice.standin.fault_book import FaultBook
from obo_bench.practice.standin.solver import TaskSource
from obo_bench.practice.standin.store import TaskStore
from obo_bench.practice.standin.tasks import TaskBook
from obo_bench.practice.standin.worker import Worker

_JOIN_SEC = 10.0


class Supervisor:
    """Owns the book of tasks and the threads that work on it."""

    def __init__(self, config: StandInConfig, task_source: TaskSource) -> None:
        """Take up what an earlier process left in the data directory; raises OSError."""
        self._config = config
        self._task_source = task_source
        self.store = TaskStore(config.data_dir)
        self.events = EventLog(self.store)
        self.faults = FaultBook(config.faults, config.seed)
        self.book = TaskBook(config, self.store, self.events, self.faults)
        self.stopping = threading.Event()
        self.ready = False
        self._threads: list[threading.Thread] = []

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        return self._config.workers if self.ready else 0

    def unready(self) -> str | None:
        """Say why no task is accepted now, None when one is."""
        if not self.ready:
            return "supervisor is still starting"
        return "supervisor has no running workers" if self.workers == 0 else None

    def start(self) -> None:
        """Begin to start; returns at once."""
        if self._config.start_delay_sec == 0:
            self._get_ready()
        self._spawn(self._live)

    def stop(self) -> None:
        """Cancel all tasks and end all threads and streams."""
        self.stopping.set()
        self.book.close()
        self.events.close()
        for thread in self._threads:
            thread.join(_JOIN_SEC)

    def _live(self) -> None:
        if not self.ready:
            if self.stopping.wait(self._config.start_delay_sec):
                return
            self._get_ready()
        if not self.stopping.wait(self._config.orphan_delay_sec):
            self.book.reconcile()

    def _get_ready(self) -> None:
        worker = Worker(self._config, self.book, self.events, self._task_source)
        for worker_id in range(self._config.workers):
            self._spawn(worker.run, worker_id)
        self.ready = True

    def _spawn(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()
