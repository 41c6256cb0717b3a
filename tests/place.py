"""One address at which real stand-in servers take each other's place."""

from pathlib import Path
from typing import Any

from obo_bench.practice.standin import StandIn, StandInConfig


class Place:
    """Serves at most one stand-in at a time; the first one chooses the port for all."""

    def __init__(self, checkout: Path, data: Path) -> None:
        self._checkout, self._data = checkout, data
        self._running: StandIn | None = None
        self._port = 0
        self.url = ""

    def start(self, **changes: Any) -> str:
        """Start a server; returns the address, which is always the same."""
        config = {"repo_dir": self._checkout, "data_dir": self._data, "port": self._port, **changes}
        self._running = StandIn(StandInConfig(**config))
        url = self._running.start()
        assert self.url in ("", url)
        self.url, self._port = url, int(url.rpartition(":")[2])
        return url

    def stop(self) -> None:
        """Take the server away in an orderly manner."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def replace(self, **changes: Any) -> None:
        """Put another server in its place."""
        self.stop()
        self.start(**changes)
