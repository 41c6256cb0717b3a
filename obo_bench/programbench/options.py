"""What the operator asked `programbench run` for, before anything is touched."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from obo_bench.core.admission import SeedDemands
from obo_bench.engine.pull_policy import PullPolicy
from obo_bench.gateway import DEFAULT_URL
from obo_bench.programbench.selection import Selector

OnInterrupt = Literal["detach", "cancel"]

DEFAULT_TIMEOUT_SEC = 21600.0
"""The official six hours, in seconds."""
DEFAULT_CPUS = 4.0
DEFAULT_MEMORY = "16g"


@dataclass(frozen=True)
class RunOptions:
    """The options of `run`, each as typed."""

    repo_dir: Path
    """The checkout that the server runs from."""
    run_root: Path
    """Where this run is written."""
    settings_path: Path
    """The server's settings file."""
    settings_named: bool = False
    """Whether the operator named it."""
    url: str = DEFAULT_URL
    """The server's address."""
    solve_model: str | None = None
    """The declared model."""
    selector: Selector = field(default_factory=Selector)
    """Which instances."""
    ids_file: Path | None = None
    """File with further instance ids, read after admission."""
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    """Deadline of one task."""
    cpus: float = DEFAULT_CPUS
    """Cores of one cleanroom."""
    memory: str = DEFAULT_MEMORY
    """Memory of one cleanroom, as docker writes it."""
    workers: int = 1
    """Instances at work at a time."""
    pull: PullPolicy = "missing"
    """When to pull images."""
    pin_digests: Path | None = None
    """File with the only images that may be used, read after admission."""
    allow_image_findings: bool = False
    """Solve also in an image that its audit objects to; recorded."""
    protected_paths: tuple[str, ...] = ()
    """Replaces the default protected artifacts; empty keeps them."""
    redo_existing: bool = False
    """Solve done instances again."""
    retry: tuple[str, ...] = ()
    """Reasons for which a failed instance is solved again."""
    dry_run: bool = False
    """Prepare everything, submit nothing."""
    evaluate: bool = False
    """Run the official evaluation afterwards."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""
    min_budget_usd: float | None = None
    """What the OpenRouter key must still be able to spend before the run starts."""
    max_cost_usd: float | None = None
    """Start nothing more once the run has cost so much, in USD."""
    on_interrupt: OnInterrupt = "detach"
    """What becomes of running tasks on a signal: left to the server, or cancelled."""
    strict: bool = False
    """Refuse submissions that hold the reference, or what can't be told from it."""
    rm_images: bool = False
    """Remove an instance's image when it is not needed any more, if this run pulled it."""
    accept_config_change: bool = False
    """Resume with another configuration than the admitted one."""
