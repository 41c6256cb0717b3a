"""One export in this process, and what it left behind."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core import ending
from obo_bench.core.ledger import Row, latest_rows
from obo_bench.core.refusals import Refusal
from obo_bench.core.reporter import Reporter, SilentReporter
from obo_bench.programbench.exporting.export import export_run
from obo_bench.programbench.exporting.export_manifest import ExportManifest
from obo_bench.programbench.exporting.options import ExportOptions
from obo_bench.programbench.selection import Selector


@dataclass(frozen=True)
class Exported:
    """A finished export."""

    document: ExportManifest
    """What it returned."""
    root: Path
    """The destination."""
    manifest: dict[str, Any]
    """The manifest as it was recorded."""

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Copied, skipped, missing, corrupt."""
        totals = self.document.totals
        assert totals.copied + totals.skipped + totals.missing + totals.corrupt == totals.requested
        return totals.copied, totals.skipped, totals.missing, totals.corrupt

    @property
    def reasons(self) -> dict[str, str]:
        return {entry.instance_id: entry.reason for entry in self.document.instances}

    @property
    def ending(self) -> tuple[str, int]:
        return self.manifest["extra"]["outcome"], self.manifest["extra"]["exit_code"]

    @property
    def rows(self) -> dict[str, Row]:
        return latest_rows(self.root / "result_index.jsonl")

    @property
    def files(self) -> set[str]:
        """All files that are not the seam's own."""
        found = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        return {name for name in found if not name.startswith(("manifests/", ".run.", ".result_index"))}


def export(
    source: Path,
    dest: Path,
    *ids: str,
    reporter: Reporter | None = None,
    overwrite: bool = False,
    leaderboard: bool = False,
    **selection: Any,
) -> Exported:
    options = ExportOptions(
        source=str(source),
        source_places=(source,),
        run_root=dest,
        selector=Selector(instance_ids=ids, **selection),
        overwrite=overwrite,
        leaderboard=leaderboard,
    )
    document = export_run(options, reporter or SilentReporter())
    manifest = ending.concluded()
    assert manifest is not None
    written = json.loads((dest / "export_manifest.json").read_text())
    assert written == document.document(), "the file tells what the command answers"
    return Exported(document, dest, manifest)


def refused(source: Path, dest: Path, *ids: str, **more: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        export(source, dest, *ids, **more)
    return caught.value
