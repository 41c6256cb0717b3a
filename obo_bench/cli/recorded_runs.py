"""Arguments that name a run which is on disk, or a directory among the runs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import arguments, variables
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import check_run_id, runs_root
from obo_bench.programbench import BENCHMARK

if TYPE_CHECKING:
    from obo_bench.programbench.leftovers.run_lookup import RecordedRun

RUN_HELP = "Run: its id, or its directory."
ServerUrl = Annotated[
    str | None,
    typer.Option(
        "--ouroboros-url",
        metavar="<url>",
        help="Address of the Ouroboros server. Default: the one in the run's manifest.",
    ),
]


def known_runs_root(named: Path | None, checkout: Path | None) -> Path | None:
    """Return where runs are kept, as `run` finds it; None when nothing tells: a directory can still be named."""
    if named is None and checkout is None and not os.environ.get("OUROBOROS_BENCH_RUNS_ROOT"):
        return None
    return runs_root(named, checkout or Path())


def implied_checkout() -> Path | None:
    """Return the checkout that environment or current directory tell, for a command that takes no --repo-dir."""
    repo_dir = variables.value_of("--repo-dir")
    return arguments.optional_checkout(Path(repo_dir) if repo_dir else None)


def run_directory(flag: str, run: str, runs: Path | None) -> Path:
    """Return the directory of a run named by its id, or by a path with a slash in it.

    By the name's shape alone, because nothing may be looked at before admission; raises UsageError.
    """
    if not run:
        raise UsageError(f"{flag} is empty: name a run by its id or directory")
    if os.sep in run or run in (".", ".."):
        return Path(run).absolute()
    if runs is None:
        raise UsageError(f"{_runs_root_unknown(flag, run)}, or name a directory as ./{run}")
    return directory_among_runs(flag, run, runs)


def directory_among_runs(flag: str, run_id: str, runs: Path | None) -> Path:
    """Return the directory of an id below the runs root; raises UsageError."""
    check_run_id(run_id, flag)
    if runs is None:
        raise UsageError(_runs_root_unknown(flag, run_id))
    return runs / BENCHMARK / run_id


def named_run(run: str, runs: Path | None) -> "RecordedRun":
    """Return the run that was named; raises UsageError for an empty name, PreflightRefused when there is none."""
    from obo_bench.programbench.leftovers.run_lookup import find_run

    if not run:
        raise UsageError("RUN is empty: name a run by its id or directory")
    return find_run(run, runs)


def _runs_root_unknown(flag: str, run: str) -> str:
    return f"{flag} {run!r}: where runs are kept is not known: give --runs-root or --repo-dir"
