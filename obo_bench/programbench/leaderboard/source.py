"""Reads what a run root tells about its instances; whatever is absent or not ours is simply not known."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import read_json_object
from obo_bench.core.ledger import LEDGER_NAME, Row
from obo_bench.core.ledger_reader import read_rows
from obo_bench.core.manifest import RunManifest
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.wire_format import WireModel
from obo_bench.programbench.admission.order import ORDER_NAME, InstanceOrder
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary

Document = TypeVar("Document", bound=WireModel)

_SOLVING = ("", "programbench run")
"""Commands whose manifest speaks of solves; other tools of the family name none."""
_EVALUATING = ("programbench eval",)


@dataclass(frozen=True)
class InstanceRecord:
    """What is recorded of one instance."""

    rows: tuple[Row, ...]
    """Its ledger rows, oldest first."""
    room: Mapping[str, Any]
    """`cleanroom.json`; empty when absent, as the next two."""
    body: Mapping[str, Any]
    """The task as it was given to the server."""
    submission: Mapping[str, Any]
    """`submission.json`."""

    def solved_by(self, sha256: str) -> Row | None:
        """Return the row that a finished solve wrote for the archive of this hash, not one that repeats it."""
        rows = [row for row in self.rows if row.status == "completed" and row.submission_sha256 == sha256]
        return rows[-1] if rows else None

    @property
    def attempts(self) -> tuple[int, ...]:
        """The attempts that had a task at the server, or a cost."""
        return tuple(sorted({row.attempt for row in self.rows if row.cost or row.details.get("task_id")}))

    @property
    def archives(self) -> frozenset[str]:
        """Hashes of all archives that its solves have handed in."""
        return frozenset(
            row.submission_sha256 for row in self.rows if row.status == "completed" and row.submission_sha256
        )


@dataclass(frozen=True)
class RunRecord:
    """What is recorded of one run."""

    root: Path
    """The run root."""
    manifest: RunManifest | None
    """Its manifest; None when absent or not readable, as the next two."""
    summary: GradeSummary | None
    """Its grades."""
    order: InstanceOrder | None
    """What it was admitted with."""
    earlier: tuple[RunManifest, ...]
    """Manifests of its other invocations, oldest first."""
    evaluations: tuple[RunManifest, ...]
    """Manifests of the evaluations that were commands of their own, oldest first."""
    instances: Mapping[str, InstanceRecord]
    """By id: those asked for."""

    @property
    def invocations(self) -> tuple[RunManifest, ...]:
        """All manifests of solves, oldest first; those of refused invocations did nothing and are left out."""
        manifests = (*self.earlier, *([self.manifest] if self.manifest else []))
        return tuple(m for m in manifests if m.extra.outcome != "refused")

    @property
    def commands(self) -> tuple[RunManifest, ...]:
        """The manifests of all that has made the results, evaluations included, oldest first."""
        evaluated = (m for m in self.evaluations if m.extra.outcome != "refused")
        return tuple(sorted((*self.invocations, *evaluated), key=lambda manifest: manifest.created_at_unix))


def read_run(root: Path, instance_ids: Sequence[str]) -> RunRecord:
    """Return the record of the run in `root`; raises OSError when a ledger is there and cannot be read."""
    rows = _rows_by_instance(root / LEDGER_NAME)
    return RunRecord(
        root=root,
        manifest=next(iter(_manifests([root / MANIFEST_NAME], _SOLVING)), None),
        summary=read_or_none(GradeSummary, root / GRADE_SUMMARY_NAME),
        order=read_or_none(InstanceOrder, root / ORDER_NAME),
        earlier=_manifests((root / "manifests").glob("*.json"), _SOLVING),
        evaluations=_manifests([*root.glob("eval/manifests/*.json"), root / "eval" / MANIFEST_NAME], _EVALUATING),
        instances={iid: _instance(root / iid, rows.get(iid)) for iid in instance_ids},
    )


def read_or_none(model: type[Document], path: Path) -> Document | None:
    """Return the document, or None when it is absent, damaged, or of another format."""
    try:
        return read_document(model, path)
    except UnreadableDocument:
        return None


def value_at(document: object, *keys: str) -> object:
    """Return what stands in a nested mapping of foreign shape, None where there is nothing."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _manifests(paths: Iterable[Path], commands: Collection[str]) -> tuple[RunManifest, ...]:
    """Return those of these commands, oldest first: others have another checkout and server, or none."""
    found = [manifest for path in paths if (manifest := read_or_none(RunManifest, path)) is not None]
    told = [manifest for manifest in found if manifest.command in commands]
    return tuple(sorted(told, key=lambda manifest: manifest.created_at_unix))


def _instance(directory: Path, rows: Iterable[Row] | None) -> InstanceRecord:
    """The run's own ledger goes before the instance's copy, whose directory may have been removed and made again."""

    def read(name: str) -> Mapping[str, Any]:
        return read_json_object(directory / name) or {}

    return InstanceRecord(
        rows=tuple(_rows(directory / LEDGER_NAME) if rows is None else rows),
        room=read("cleanroom.json"),
        body=read("ouroboros_task_body.json"),
        submission=read("submission.json"),
    )


def _rows_by_instance(ledger: Path) -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = {}
    for row in _rows(ledger):
        found.setdefault(row.instance_id, []).append(row)
    return found


def _rows(path: Path) -> Iterator[Row]:
    return read_rows(path) if path.is_file() else iter(())
