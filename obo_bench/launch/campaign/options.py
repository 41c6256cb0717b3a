"""What the operator asked `campaign run` or `campaign resume` for, before anything is touched."""

from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.admission import SeedDemands
from obo_bench.gateway import DEFAULT_URL


@dataclass(frozen=True)
class CampaignOptions:
    """The options, each as typed."""

    command: str
    """`campaign run` or `campaign resume`."""
    run_root: Path
    """Where the campaign is recorded; its name is the campaign's id."""
    runs_root: Path
    """Where its steps' runs are kept."""
    repo_dir: Path | None
    """The checkout that the server runs from; None takes the recorded one."""
    settings_path: Path | None
    """The server's settings file; None takes the recorded one, else that of the recorded checkout."""
    runs_named: bool = True
    """Whether the runs root was said; else the recorded one counts."""
    settings_named: bool = False
    """Whether the operator named it."""
    file: Path | None = None
    """The campaign file; None on a resume, which knows it."""
    url: str | None = None
    """The server's address; None takes the recorded one, else the default."""
    solve_model: str | None = None
    """The model that must solve; None takes the recorded one, else the file's."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""
    max_cost_usd: float | None = None
    """What all steps together may cost; None takes the recorded one, else the file's."""
    quiet: bool = False
    """Whether the steps are told to be quiet, too."""

    def given(self) -> dict[str, object]:
        """Return what this command line says to all steps, by option."""
        said = {
            "repo_dir": str(self.repo_dir) if self.repo_dir else None,
            "runs_root": str(self.runs_root) if self.runs_named else None,
            "ouroboros_url": self.url,
            "settings_path": str(self.settings_path) if self.settings_named else None,
            "solve_model": self.solve_model,
            "allow_dirty_seed": self.seed.allow_dirty,
            "expect": self.seed.expect,
            "expected_version": self.expected_version,
            "seed_commit": self.seed.seed_commit,
            "require_stamp": self.seed.require_stamp,
        }
        return {name: value for name, value in said.items() if value}


def with_defaults(given: dict[str, object], solve_model: str | None) -> dict[str, object]:
    """Return what the steps are given: the command line's, then the file's model, then the default address."""
    return {"ouroboros_url": DEFAULT_URL, **({"solve_model": solve_model} if solve_model else {}), **given}
