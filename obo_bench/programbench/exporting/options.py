"""What an export is asked for; built from the arguments alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.programbench.selection import Selector


@dataclass(frozen=True)
class ExportOptions:
    """What the operator asked for."""

    source: str
    """The source, as it was named."""
    source_places: tuple[Path, ...]
    """Where it may be, the likeliest first."""
    run_root: Path
    """The destination."""
    repo_dir: Path | None = None
    """The checkout; recorded, and no output may land in it."""
    settings_path: Path | None = None
    """The server's settings file; no output may land in its directory."""
    selector: Selector = field(default_factory=Selector)
    """Which of the source's instances."""
    ids_file: Path | None = None
    """File with further ids, read after admission."""
    overwrite: bool = False
    """Replace an archive in the destination that is not the source's."""
    leaderboard: bool = False
    """Add what the official submission needs."""

    def inputs(self) -> Mapping[str, Path]:
        """Return what the export reads and may never write into."""
        return {"the source of the export": self.source_places[0]}

    def harness(self) -> dict[str, Any]:
        """Return what the arguments say, for the manifest."""
        return {
            "source": self.source,
            "overwrite": self.overwrite,
            "leaderboard": self.leaderboard,
            "difficulty": list(self.selector.difficulty),
            "selector": {
                "filter": self.selector.filter,
                "slice": self.selector.slice,
                "shuffle": self.selector.shuffle,
                "language": list(self.selector.language),
                "instance_ids": list(self.selector.instance_ids),
                "ids_file": str(self.ids_file) if self.ids_file else None,
            },
        }
