"""What an invocation asks of the seam, known from its arguments alone; building it touches nothing."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core import invocation
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import MANIFEST_NAME

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def check_commit(flag: str, commit: str | None) -> str | None:
    """Return a commit in lower case, or raise UsageError when it is not hexadecimal: names can be moved."""
    if commit is not None and not _COMMIT.fullmatch(commit.lower()):
        raise UsageError(f"{flag} {commit!r} is not a commit: give 7 to 64 hexadecimal digits, not a branch or tag")
    return commit.lower() if commit is not None else None


@dataclass(frozen=True)
class SeedDemands:
    """What the checkout must be."""

    allow_dirty: bool = False
    """Waive the waivable reasons of the seed gate; recorded."""
    expect: str | None = None
    """Commit prefix or version that the checkout must have."""
    seed_commit: str | None = None
    """Commit (hexadecimal, full or at least 7 digits) from which the checkout must descend."""
    require_stamp: bool = False
    """Whether the git directory must hold the stamp of the commit that it was seeded from."""
    require_git_directory: bool = False
    """Whether `.git` must be a directory, because the checkout is mounted somewhere else."""
    gated: bool = True
    """Whether it must be exactly its commit; else its state is recorded and decides nothing, as nothing runs it."""

    @property
    def asks_lineage(self) -> bool:
        """Whether the line of descent matters."""
        return self.require_stamp or self.seed_commit is not None


@dataclass(frozen=True)
class AdmissionRequest:
    """All that the arguments say."""

    benchmark: str
    """The benchmark's name."""
    command: str
    """The recorded command."""
    run_root: Path
    """Where the run is written."""
    repo_dir: Path | None
    """The checkout the server runs from; None where the command needs none and none was named."""
    settings_path: Path | None = None
    """The server's settings file; no output may land in its directory."""
    data_root: Path | None = None
    """A data directory of its own that the server was given; no output may land in it."""
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Directories that the command only reads, by what they are; no output may land in them."""
    input_files: Mapping[str, Path] = field(default_factory=dict)
    """Files that the command only reads, by what they are; no output may replace them."""
    outputs: Sequence[Path] = ()
    """Files beside the run root that the command will write."""
    argv: Sequence[str] = field(default_factory=lambda: list(sys.argv))
    """The command line."""
    origins: Mapping[str, str] = field(default_factory=invocation.origins)
    """Where the value of each option comes from, for the manifest's `harness.origins`."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    harness: Mapping[str, Any] = field(default_factory=dict)
    """What the arguments already say about the harness."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the arguments already say for the manifest's `extra`."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further top-level manifest fields known from the arguments."""
    manifest_name: str = MANIFEST_NAME
    """Name of the manifest, relative to the run root."""
