"""Keeps the gate off runs whose grades are about to change."""

from pathlib import Path

from obo_bench.core.lock import living_owner
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.leftovers.run_lookup import owner_text


def refuse_living(root: Path) -> None:
    """Raise PreflightRefused `run_locked` for a run that a solve or an evaluation is at work on."""
    for place in (root, root / "eval"):
        try:
            owner = living_owner(place)
        except OSError as error:
            raise PreflightRefused(
                "run_locked",
                f"whether a process is at work on {str(root)!r} cannot be told: {error.strerror or error}",
                evidence={"run": str(root), "why": str(error)},
            ) from error
        if owner is not None:
            raise PreflightRefused(
                "run_locked",
                f"the run {str(root)!r} is at work: {owner_text(owner)} holds it",
                evidence={"owner": owner},
                remedy="wait until it is over and graded, then repeat this command",
            )
