"""Reads what a run root holds; whatever is absent or damaged is not known, and noted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.ledger import LEDGER_NAME, Row, read_rows
from obo_bench.core.ledger_reader import Damage
from obo_bench.core.manifest import RunManifest
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.wire_format import WireModel
from obo_bench.programbench.admission.order import ORDER_NAME, InstanceOrder
from obo_bench.programbench.evaluation.accounts import read_accounts
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary
from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.report.launched import is_launched

Document = TypeVar("Document", bound=WireModel)

MOST_INSTANCES = 1000
"""Instances that a report tells of: five times the benchmark."""
_MOST_INVOCATIONS = 50


@dataclass(frozen=True)
class RunRecord:
    """What is recorded of one run."""

    root: Path
    """The run root."""
    manifest: RunManifest | None
    """Its manifest; None when absent or not readable, as the next two."""
    order: InstanceOrder | None
    """What it was admitted with."""
    summary: GradeSummary | None
    """Its grades."""
    rows: Mapping[str, Sequence[Row]]
    """Its ledger by instance, oldest row first."""
    accounts: Mapping[str, InstanceAccount]
    """What each instance took; empty where no ledger tells."""
    earlier: Sequence[RunManifest]
    """Manifests of its other invocations, oldest first."""
    instance_ids: Sequence[str]
    """The instances that it is about."""
    notes: Sequence[str]
    """What could not be read or was left out."""

    @property
    def command(self) -> str:
        """The command that made it; empty where no manifest tells."""
        return self.manifest.command if self.manifest else ""

    @property
    def launched(self) -> bool:
        """Whether another launcher is what it tells of."""
        return is_launched(self.command)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The manifest as it is written; empty where none can be read."""
        return self.manifest.document() if self.manifest else {}

    def last_row(self, instance_id: str) -> Row | None:
        """Return the last row of an instance, None where there is none."""
        rows = self.rows.get(instance_id, ())
        return rows[-1] if rows else None

    @property
    def all_rows(self) -> list[Row]:
        """The rows of all instances."""
        return [row for rows in self.rows.values() for row in rows]


def read_record(root: Path) -> RunRecord:
    """Return the record of the run in `root`; never raises for what it holds."""
    notes: list[str] = []
    manifest = _read(RunManifest, root / MANIFEST_NAME, notes)
    order = _read(InstanceOrder, root / ORDER_NAME, notes)
    summary = _read(GradeSummary, root / GRADE_SUMMARY_NAME, notes)
    rows = _rows(root / LEDGER_NAME, notes)
    asked = (manifest.requested_task_ids if manifest else None) or (order.instance_ids if order else None)
    ids = list(dict.fromkeys(asked or [*rows, *(summary.instances if summary else ())]))
    if len(ids) > MOST_INSTANCES:
        notes.append(f"the run names {len(ids)} instances: only the first {MOST_INSTANCES} are told of")
    return RunRecord(
        root=root,
        manifest=manifest,
        order=order,
        summary=summary,
        rows=rows,
        accounts=_accounts(root, ids[:MOST_INSTANCES]),
        earlier=_earlier(root),
        instance_ids=ids[:MOST_INSTANCES],
        notes=notes,
    )


def _read(model: type[Document], path: Path, notes: list[str]) -> Document | None:
    try:
        return read_document(model, path)
    except UnreadableDocument as error:
        if path.exists() or path.name == MANIFEST_NAME:
            notes.append(f"{path.name}: {f'{error.field}: ' if error.field else ''}{error.problem}")
        return None


def _rows(path: Path, notes: list[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    damage = Damage()
    try:
        for row in read_rows(path, damage):
            found.setdefault(row.instance_id, []).append(row)
    except OSError as error:
        notes.append(f"{path.name}: cannot be read: {error.strerror or error}")
    if damage.count:
        notes.append(f"{path.name}: {damage}")
    return found


def _accounts(root: Path, ids: Sequence[str]) -> Mapping[str, InstanceAccount]:
    try:
        return read_accounts(root, ids) or {}
    except OSError:
        return {}


def _earlier(root: Path) -> list[RunManifest]:
    found = []
    for path in sorted((root / "manifests").glob("*.json"))[-_MOST_INVOCATIONS:]:
        try:
            found.append(read_document(RunManifest, path))
        except UnreadableDocument:
            continue
    return sorted(found, key=lambda manifest: manifest.created_at_unix)


def text_of(value: object) -> str:
    """Return a value of a foreign mapping as text: words as they are, anything else as JSON, nothing as empty."""
    if value is None or value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def mapping(value: object) -> Mapping[str, object]:
    """Return a foreign value as a mapping, an empty one when it is none."""
    return value if isinstance(value, Mapping) else {}
