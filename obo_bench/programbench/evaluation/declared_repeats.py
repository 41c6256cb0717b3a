"""Which invocations of a run were asked to solve finished instances again, by their manifests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.roots import MANIFEST_NAME


class DeclaredRepeats:
    """The run's invocations in their order, and which of them carried --redo-existing or --retry."""

    def __init__(self, run_root: Path) -> None:
        """Read all manifests of the run; one that cannot be read announces nothing."""
        found = sorted(_manifests(run_root), key=lambda manifest: _number(manifest.get("created_at_unix")))
        self._order = {str(manifest.get("invocation")): place for place, manifest in enumerate(found)}
        self._asked = {str(manifest.get("invocation")) for manifest in found if _asks(manifest)}

    def cover(self, earlier: str, later: str) -> bool:
        """Say whether an attempt that `later` is the first to tell of, after one that `earlier` told of, was asked for.

        The invocation that began it may have been killed before it wrote a row: all after `earlier` are looked at.
        """
        if later in self._asked:
            return True
        first, last = self._order.get(earlier), self._order.get(later)
        if first is None or last is None:
            return False
        return any(first < self._order[name] <= last for name in self._asked)


def _manifests(run_root: Path) -> Iterator[dict[str, Any]]:
    for path in [run_root / MANIFEST_NAME, *sorted((run_root / "manifests").glob("*.json"))]:
        manifest = read_json_object(path)
        if manifest is not None:
            yield manifest


def _asks(manifest: dict[str, Any]) -> bool:
    harness, extra = manifest.get("harness"), manifest.get("extra")
    if not isinstance(harness, dict) or (isinstance(extra, dict) and extra.get("outcome") == "refused"):
        return False
    return harness.get("redo_existing") is True or bool(harness.get("retry"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
