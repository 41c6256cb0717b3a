"""What the operator asked a gate for."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_MIN_PAIRS = 20
"""Ten smoke and ten unseen tasks, all of them paired."""


@dataclass(frozen=True)
class TaskSource:
    """Where the tasks come from: one list, two lists, or a draw."""

    tasks: Path | None = None
    """A list, with or without the two groups."""
    smoke: Path | None = None
    """A list of smoke tasks."""
    unseen: Path | None = None
    """A list of unseen tasks; without it and with a seed they are drawn."""
    seed: int | None = None
    """Seed of a draw."""


@dataclass(frozen=True)
class GateOptions:
    """What the operator asked for."""

    run: Path
    """Directory of the run."""
    reference: str
    """File, directory or run id that the run must be at least as good as."""
    tasks: TaskSource
    """Which tasks are compared."""
    baseline: str | None = None
    """File, directory or run id that the run must not be below."""
    min_pairs: int = DEFAULT_MIN_PAIRS
    """Pairs with the reference that are demanded."""
    runs_root: Path | None = None
    """Where runs are kept, as far as that is known."""
    repo_dir: Path | None = None
    """The checkout, where one is known; recorded, and nothing may land in it."""
    settings_path: Path | None = None
    """The server's settings file; nothing may land in its directory."""

    @property
    def run_root(self) -> Path:
        """Where the gate writes."""
        return self.run / "gate"
