"""Arguments that name a run which is on disk already."""

import os
from pathlib import Path
from typing import Annotated

import typer

from obo_bench.cli import arguments
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import runs_root
from obo_bench.programbench.leftovers.run_lookup import RecordedRun, find_run

RUN_HELP = "The run: its id, or its directory."
ServerUrl = Annotated[
    str | None,
    typer.Option("--ouroboros-url", help="Address of the server, where it is not the one in the run's manifest."),
]


def known_runs_root(named: Path | None) -> Path | None:
    """Return where runs are kept, as `run` finds it; None when nothing tells: a directory can still be named."""
    checkout = Path()
    if named is None and not os.environ.get("OUROBOROS_BENCH_RUNS_ROOT"):
        repo_dir = os.environ.get("OUROBOROS_REPO_DIR")
        try:
            checkout = arguments.checkout(Path(repo_dir) if repo_dir else None)
        except UsageError:
            return None
    return runs_root(named, checkout)


def named_run(run: str, runs: Path | None) -> RecordedRun:
    """Return the run that was named; raises UsageError for an empty name, PreflightRefused when there is none."""
    if not run:
        raise UsageError("RUN is empty: name a run by its id or directory")
    return find_run(run, runs)
