"""Find the recorded directory that an operator named, or the latest run."""

import os
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.core.roots import without_dots
from obo_bench.programbench.leftovers.run_lookup import find_run
from obo_bench.report.known_runs import KINDS, MANIFEST, RUNS, newest_first, other_places
from obo_bench.report.status.record import is_record


def named_record(named: str | None, runs_root: Path | None) -> Path:
    """Return the directory of a record named by its id below the runs root, or by its path; without a name the latest.

    An id may be that of another benchmark's record, as `runs` lists it, where no other record has it. Raises
    PreflightRefused `run_not_found`, and UsageError for a name that can mean nothing, or several records.
    """
    if named is None:
        return _latest(runs_root)
    if not named:
        raise UsageError("RUN is empty: name a run by its id or directory, or leave it out for the latest")
    places = [Path(named)]
    if runs_root is not None and os.sep not in named and named not in (".", ".."):
        places = [*(runs_root / kind / named for kind in KINDS), *places]
    found = next((place for place in places if is_record(place)), None) or _of_another_benchmark(named, runs_root)
    return without_dots(found if found is not None else find_run(named, runs_root).root)


def _of_another_benchmark(named: str, runs_root: Path | None) -> Path | None:
    if runs_root is None or os.sep in named or named in (".", ".."):
        return None
    found = [place / named for place in other_places(runs_root) if os.path.lexists(place / named / MANIFEST)]
    if len(found) > 1:
        raise UsageError(f"RUN {named!r} is the id of several records: name one by its directory, such as {found[0]}")
    return found[0] if found else None


def _latest(runs_root: Path | None) -> Path:
    if runs_root is None:
        raise UsageError("no RUN is named, and where runs are kept is not known: give RUN, or --runs-root")
    found = next(filter(is_record, newest_first(runs_root / RUNS)), None)
    if found is not None:
        return without_dots(found)
    raise PreflightRefused(
        "run_not_found",
        f"there is no run below {str(runs_root / RUNS)!r} yet",
        evidence={"run": None, "runs_root": str(runs_root)},
        remedy="name a run by its directory, or the place of the runs with --runs-root",
    )
