"""One stand-in server at a time on a practice directory: a second one on its data would fail the tasks of the first."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from obo_bench.core.files import read_json_object, write_json
from obo_bench.practice.setup_error import PracticeSetupError

_LOCK_NAME = ".stand-in.lock"
_OWNER_NAME = ".stand-in.owner.json"


class ExclusiveData:
    """Exclusive use of a stand-in server's data directory; a context manager.

    The kernel ends the lock with its process, so that of a dead one holds nobody up.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._lock = FileLock(data_dir / _LOCK_NAME, timeout=0)
        self._owner = data_dir / _OWNER_NAME

    def __enter__(self) -> Self:
        """Take it; raises PracticeSetupError naming the process that has it, and OSError."""
        self._data_dir.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise self._in_use() from None
        self._tell({"pid": os.getpid()})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        try:
            self._owner.unlink(missing_ok=True)
        finally:
            self._lock.release()

    def served_at(self, url: str) -> None:
        """Note the address for whoever is refused."""
        self._tell({"pid": os.getpid(), "url": url})

    def _tell(self, owner: dict[str, object]) -> None:
        write_json(self._owner, owner)

    def _in_use(self) -> PracticeSetupError:
        owner = read_json_object(self._owner) or {}
        process = f"process {owner['pid']}" if "pid" in owner else "another process"
        served = f", whose stand-in server answers at {owner['url']}" if "url" in owner else ""
        return PracticeSetupError(
            f"the directory {str(self._data_dir.parent)!r} is in use by {process}{served}: "
            "a second server on the same data would fail the tasks of the first",
            "run against that server, with the lines that `practice gateway` shows; or end it with Ctrl-C in its "
            "terminal; or name another --directory",
        )
