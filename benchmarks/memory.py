"""Watch the memory of this process and of everything that it starts, while something runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SEC = 0.002


class Peak:
    """The largest resident memory of the whole process tree that was seen, in bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look every few milliseconds until the block is left."""
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(_PAUSE_SEC):
            self.bytes = max(self.bytes, tree_rss(Path("/proc/self").resolve()))


def tree_rss(process: Path) -> int:
    """Return the resident bytes of a process (its directory in /proc) and its descendants; pages shared count twice."""
    try:
        status = (process / "status").read_text()
        lists = [(task / "children").read_text() for task in (process / "task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS")), 0)
    return own + sum(tree_rss(process.parent / child) for listed in lists for child in listed.split())
