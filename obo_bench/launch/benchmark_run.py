"""`benchmark_run`: a launcher written in Python becomes a recorded run, alone or under `obo-bench exec`.

The situation is told by the variables that `exec` sets, and only where the run they name still goes on.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from obo_bench.core.admission import SeedDemands, check_commit
from obo_bench.launch.helper.asked import Asked, ids_of
from obo_bench.launch.helper.parent import NoLiveParent, live_parent, named_in
from obo_bench.launch.helper.run import BenchmarkRun, Paths


def benchmark_run(
    benchmark: str,
    *,
    requested_task_ids: Sequence[str] | None = None,
    run_root: str | os.PathLike[str] | None = None,
    repo_dir: str | os.PathLike[str] | None = None,
    ouroboros_url: str | None = None,
    expected_version: str | None = None,
    settings_path: str | os.PathLike[str] | None = None,
    solve_model: str | None = None,
    seed: SeedDemands | None = None,
    dataset: str = "",
    official_command: Sequence[str] = (),
    timeout_sec: float | None = None,
    output_paths: Paths | None = None,
    harness: Mapping[str, Any] | None = None,
) -> AbstractContextManager[BenchmarkRun]:
    """Return the context manager that admits the run of a launcher, and records its end whatever way it ends.

    `benchmark`: its name, the directory of its runs. `requested_task_ids`: what is asked for, where it is known
    before any file is read; else say it with `run.request`. `run_root`: where the run is recorded; a directory of its
    own under the runs root unless given. `repo_dir`: the checkout, held to be exactly its commit and to `seed`.
    `ouroboros_url`: the server, attested to run that checkout (or `expected_version`), ready, and with `solve_model`
    where that is given; that there is none is recorded. `settings_path`: the server's settings file. `dataset`,
    `official_command`, `timeout_sec` (seconds for one instance), `harness`: for the record. `output_paths`: where
    results will lie.

    Under `obo-bench exec` all of this is exec's business: the run root, admission and manifest are its own, and a
    launcher that asks for another benchmark, checkout or server, or for more than was checked, is refused.

    Entering raises the typed refusal of the first gate that objects, after it was recorded; `launcher_contract_stale`
    where variables name a run that does not go on, `launcher_contradicts_run` under an exec that means another.
    Raises UsageError at once for arguments that mean nothing.
    """
    demands = seed or SeedDemands()
    asked = Asked(
        benchmark=benchmark,
        named_root=_path(run_root),
        requested_task_ids=None if requested_task_ids is None else ids_of(requested_task_ids),
        repo_dir=_path(repo_dir),
        ouroboros_url=ouroboros_url,
        expected_version=expected_version,
        settings_path=_path(settings_path),
        solve_model=solve_model,
        seed=replace(demands, seed_commit=check_commit("seed_commit", demands.seed_commit)),
        dataset=dataset,
        official_command=tuple(official_command),
        timeout_sec=timeout_sec,
        output_paths={name: Path(path) for name, path in (output_paths or {}).items()},
        harness=dict(harness or {}),
    )
    return _situation(asked, named_in(os.environ))


def _path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given).absolute()


def _situation(asked: Asked, named: Mapping[str, str]) -> AbstractContextManager[BenchmarkRun]:
    """Choose who keeps the record; the run that the variables name has to be looked at for that, and nothing else."""
    from obo_bench.launch.helper.recorded import Recording
    from obo_bench.launch.helper.wrapped import Reporting

    if not named:
        return Recording(asked)
    try:
        return Reporting(asked, *live_parent(named))
    except NoLiveParent as nobody:
        return Recording(asked, nobody)
