"""Where a launcher may write: nothing of the run's own record, and nothing that belongs to the server."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.lock import LOCK_NAME, OWNER_NAME
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import MANIFEST_NAME, check_confined
from obo_bench.launch.contract.variables import CHILD_DIRECTORY

_RECORD = frozenset({MANIFEST_NAME, LEDGER_NAME})
"""Files that no launcher writes, wherever they lie: they may be another run's."""
_OF_THE_RUN = frozenset({"manifests", CHILD_DIRECTORY, LOCK_NAME, OWNER_NAME})
"""What else in the run root is the run's own."""


class Outputs:
    """The places of one run's results."""

    def __init__(self, run_root: Path, forbidden: Mapping[str, Path]) -> None:
        self._run_root = run_root
        self._forbidden = forbidden

    def place(self, path: str | PathLike[str]) -> Path:
        """Return where a result goes; a relative path begins in the run root.

        Raises UsageError for the run's own files and for what is no file (devices stay devices), PreflightRefused
        `output_not_confined` for the server's places.
        """
        target = self._run_root / path
        resolved = target.resolve()
        root = self._run_root.resolve()
        within = resolved.relative_to(root).parts if resolved.is_relative_to(root) else ("",)
        if not within or within[0] in _OF_THE_RUN or target.name in _RECORD or resolved.name in _RECORD:
            raise UsageError(f"{str(target)!r} is part of a run's own record: choose another name for a result")
        if resolved.exists() and not resolved.is_file():
            raise UsageError(f"{str(target)!r} is no regular file: a result would replace it, so choose another name")
        check_confined(target, self._forbidden)
        return target

    def named(self, path: str | PathLike[str]) -> str:
        """Return a file of an instance as a row names it: relative to the run root where it lies in it."""
        target = self._run_root / path
        return str(target.relative_to(self._run_root) if target.is_relative_to(self._run_root) else target)
