"""The source of an export: a run, an export, or any directory of submissions. It is only read."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.lock import living_owner
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.admission.order import ExportedFrom, InstanceOrder
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.submitted import Submitted, read_submitted


@dataclass(frozen=True)
class Source:
    """A source as it was found."""

    submitted: Submitted
    """What it says of itself; its directory with links resolved."""
    origin: ExportedFrom
    """What an export of it says of it."""
    notices: tuple[str, ...]
    """What is wrong with it, in words."""

    @property
    def root(self) -> Path:
        """Its directory."""
        return self.submitted.root

    def archive(self, instance_id: str) -> Path:
        """Return where an instance's archive is."""
        return InstancePaths(self.root, instance_id).submission


def open_source(named: str, places: Sequence[Path]) -> Source:
    """Return the first of the places that is a source; raises PreflightRefused `run_not_found` with near names."""
    tried = []
    for place in places:
        try:
            found = _read(place.resolve()) if place.is_dir() else None
        except OSError as error:
            tried.append(f"{str(place)!r} cannot be read: {error.strerror or error}")
            continue
        if found is not None and found.submitted.requested:
            return found
        tried.append(f"{str(place)!r} {'has no record and no submissions' if found else 'is no directory'}")
    near = sorted(
        {name for place in places for name in difflib.get_close_matches(place.name, list(_siblings(place)), n=3)}
    )
    raise PreflightRefused(
        "run_not_found",
        f"there is nothing to export from {named!r} ({'; '.join(tried)})"
        + (f"; did you mean {', '.join(near)}?" if near else ""),
        evidence={"source": named, "places": [str(place) for place in places], "near": near},
    )


def _read(root: Path) -> Source:
    found = read_submitted(root)
    origin = ExportedFrom(
        run_root=str(root),
        command=str(found.manifest.get("command") or ""),
        invocation=str(found.manifest.get("invocation") or ""),
        manifest_sha256=found.manifest_sha256,
        run_nonce=found.order.run_nonce if found.order else "",
        unverified_source=not found.has_ledger,
        source_live=_is_live(root),
        earlier=_earlier(found.order),
    )
    return Source(found, origin, (*found.notices, *(ledger_notices(root) if found.has_ledger else ())))


def _earlier(order: InstanceOrder | None) -> list[dict[str, Any]]:
    """Return the line of sources behind a source that is an export itself."""
    if order is None or order.exported_from is None:
        return []
    nearest = order.exported_from.document()
    return [{**nearest, "earlier": []}, *order.exported_from.earlier]


def _is_live(root: Path) -> bool | None:
    try:
        return living_owner(root) is not None
    except OSError:
        return None


def _siblings(place: Path) -> Iterator[str]:
    try:
        yield from sorted(path.name for path in place.parent.iterdir())
    except OSError:
        return
