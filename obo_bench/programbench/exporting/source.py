"""The source of an export: a run, an export, or any directory of submissions. It is only read."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.ledger import LEDGER_NAME, Row, latest_rows
from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.manifest import MANIFEST_NAME
from obo_bench.core.peek import peek
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.admission.order import ORDER_NAME, ExportedFrom, InstanceOrder
from obo_bench.programbench.instances import is_instance_id
from obo_bench.programbench.leftovers.run_lookup import living_owner
from obo_bench.programbench.packaging.submission import ARCHIVE_NAME
from obo_bench.programbench.paths import InstancePaths

_LARGEST_MANIFEST = 64 * 1024 * 1024
_SHOWN = 5


@dataclass(frozen=True)
class Source:
    """A source as it was found."""

    root: Path
    """Its directory, links resolved."""
    requested: tuple[str, ...]
    """The instances that it is about, in its own order."""
    rows: Mapping[str, Row]
    """The last row of each instance: of its ledger, or of their own ledgers where it has none."""
    origin: ExportedFrom
    """What an export of it says of it."""
    notices: tuple[str, ...]
    """What is wrong with it, in words."""

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
        if found is not None and found.requested:
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
    manifest, digest = _manifest(root)
    order, notices = _order(root)
    rows = latest_rows(root / LEDGER_NAME)
    requested = _requested(root, manifest, order, rows, notices)
    has_ledger = (root / LEDGER_NAME).is_file()
    if not has_ledger:
        rows = _own_rows(root, requested, notices)
    origin = ExportedFrom(
        run_root=str(root),
        command=str(manifest.get("command") or ""),
        invocation=str(manifest.get("invocation") or ""),
        manifest_sha256=digest,
        run_nonce=order.run_nonce if order else "",
        unverified_source=not has_ledger,
        source_live=_is_live(root),
        earlier=_earlier(order),
    )
    notices += ledger_notices(root) if has_ledger else []
    return Source(root, requested, rows, origin, tuple(notices))


def _manifest(root: Path) -> tuple[Mapping[str, Any], str]:
    """Return the source's manifest and its hash; both empty where there is none that can be read."""
    try:
        data = peek(root / MANIFEST_NAME, _LARGEST_MANIFEST)
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}, ""
    return (value, hashlib.sha256(data).hexdigest()) if isinstance(value, dict) else ({}, "")


def _order(root: Path) -> tuple[InstanceOrder | None, list[str]]:
    path = root / ORDER_NAME
    try:
        return (read_document(InstanceOrder, path) if path.is_file() else None), []
    except UnreadableDocument as error:
        return None, [str(error)]


def _requested(
    root: Path,
    manifest: Mapping[str, Any],
    order: InstanceOrder | None,
    rows: Mapping[str, Row],
    notices: list[str],
) -> tuple[str, ...]:
    """Return what the source is about: as its manifest says, else its order, else all with an archive or a row."""
    recorded = manifest.get("requested_task_ids")
    names = recorded if isinstance(recorded, list) and recorded else (order.instance_ids if order else [])
    names = [str(name) for name in names] or sorted(
        {*rows, *(path.parent.name for path in root.glob(f"*/{ARCHIVE_NAME}"))}
    )
    odd = [name for name in names if not is_instance_id(name)]
    if odd:
        shown = ", ".join(ascii(name[:100]) for name in odd[:_SHOWN])
        notices.append(f"{len(odd)} name(s) in {root} are no instance ids and left out: {shown}")
    return tuple(dict.fromkeys(name for name in names if is_instance_id(name)))


def _own_rows(root: Path, names: Sequence[str], notices: list[str]) -> dict[str, Row]:
    """Return the last row of each instance's own ledger, as `prepare` and a copied instance directory have one."""
    rows: dict[str, Row] = {}
    for name in names:
        try:
            rows |= {found: row for found, row in latest_rows(root / name / LEDGER_NAME).items() if found == name}
        except OSError as error:
            notices.append(f"the ledger of {name} cannot be read: {error.strerror or error}")
    return rows


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
