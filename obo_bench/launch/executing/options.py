"""What the operator asked `exec` for, before anything is touched."""

from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.admission import SeedDemands
from obo_bench.gateway import DEFAULT_URL

DEFAULT_GRACE_SEC = 10.0
"""What a launcher has between the signal that asks it to end and SIGKILL."""


@dataclass(frozen=True)
class ExecOptions:
    """The options of `exec`, each as typed or as its preset says."""

    benchmark: str
    """The benchmark's name."""
    command: tuple[str, ...]
    """The launcher's program and arguments."""
    repo_dir: Path
    """The checkout that the server runs from."""
    run_root: Path
    """Where this run is written."""
    settings_path: Path
    """The server's settings file."""
    settings_named: bool = False
    """Whether the operator named it."""
    preset: str | None = None
    """The name of what is known of the launcher."""
    url: str | None = DEFAULT_URL
    """The server's address; None where the launcher needs none, or starts its own."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    task_ids: tuple[str, ...] = ()
    """Requested instances."""
    ids_file: Path | None = None
    """File with further ones, read after admission."""
    solve_model: str | None = None
    """The declared model."""
    dataset: str = ""
    """The data set and its version."""
    official_command: tuple[str, ...] = ()
    """The official evaluator's command line, for the record."""
    timeout_sec: float | None = None
    """Seconds after which the launcher is stopped."""
    max_cost_usd: float | None = None
    """Stop the launcher once it has cost so much."""
    min_budget_usd: float | None = None
    """What the OpenRouter key must still be able to spend before it is started."""
    grace_sec: float = DEFAULT_GRACE_SEC
    """Seconds between the signal that asks it to end and SIGKILL."""
    quiet: bool = False
    """Whether what it prints goes to the log only."""
