"""What the operator asked `prepare` for, before anything is touched, and what he gets."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.admission import SeedDemands
from obo_bench.programbench.options import DEFAULT_TIMEOUT_SEC
from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.paths import InstancePaths

COMMAND = "programbench prepare"
"""The command's name in manifests, also where it answers at top level."""


@dataclass(frozen=True)
class PrepareOptions:
    """The options of `prepare`, each as typed; paths are absolute."""

    repo_dir: Path
    """The checkout that the server runs from."""
    run_root: Path
    """Where the preparation is recorded: the instance's directory in its run."""
    instance_id: str
    """The instance."""
    workspace: Path
    """The workspace on the host."""
    instruction_file: Path
    """What the agent is told."""
    container_name: str
    """The running cleanroom; it is looked at, never changed."""
    settings_path: Path
    """The server's settings file."""
    settings_named: bool = False
    """Whether the operator named it."""
    isolated_data_root: Path | None = None
    """A data directory of its own that the server was given: recorded, and no output may land in it."""
    protected_paths: tuple[str, ...] = ()
    """Replaces the default protected artifacts; empty keeps them."""
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    """Deadline of the task, for its body."""
    ledger_output: Path | None = None
    """Another ledger that gets the same lines."""
    manifest_output: Path | None = None
    """Where the manifest is written as well."""
    strict: bool = False
    """Refuse what would only be flagged."""
    evaluate: bool = False
    """Run the official evaluation on this one submission."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""

    @property
    def run(self) -> Path:
        """The run that the instance belongs to; other instances of it may be prepared at the same time."""
        return self.run_root.parent

    @property
    def paths(self) -> InstancePaths:
        """The files of the instance."""
        return InstancePaths(self.run, self.instance_id)

    @property
    def protected(self) -> tuple[str, ...]:
        """The artifacts that the agent may only run."""
        return self.protected_paths or DEFAULT_PROTECTED_PATHS


@dataclass(frozen=True)
class PrepareResult:
    """What the operator gets."""

    status: str
    """Of the last ledger row: completed, blocked or failed."""
    reason_code: str
    """Of the same row."""
    error: str
    """Of the same row; empty when nothing went wrong."""
    submission_sha256: str
    """Hash of the archive; empty when there is none."""
    official_eval_status: str
    """not_run, pass, fail or ungraded."""
    grade: dict[str, Any]
    """Score, reason and blame; empty without an evaluation."""
