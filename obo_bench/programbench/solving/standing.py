"""How the requested instances stand, as far as the run's own files tell, before anything is done with them."""

from collections.abc import Sequence
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import finished_row, is_kept, is_retried, last_ending


def refuse_dry_run_over_tasks(run_root: Path, instance_ids: Sequence[str]) -> None:
    """Raise PreflightRefused when tasks were submitted in this run: preparing afresh would take their containers."""
    submitted = [name for name in instance_ids if _has_task(InstancePaths(run_root, name))]
    if submitted:
        raise PreflightRefused(
            "resume_config_mismatch",
            f"a dry run would disturb the {len(submitted)} task(s) that this run has submitted, such as {submitted[0]}",
            evidence={"key": "dry_run", "old": False, "new": True, "submitted": submitted},
            remedy="give the dry run a --run-id of its own",
        )


def is_only_new_tasks(instance_ids: Sequence[str], options: RunOptions) -> bool:
    """Say whether all that is left to do needs new tasks; work that only waits to be fetched costs nothing more."""
    wanted = False
    for name in instance_ids:
        paths = InstancePaths(options.run_root, name)
        done = finished_row(paths)
        if done is not None and not options.redo_existing and not is_retried(done, options.retry):
            continue
        if _has_task(paths):
            return False
        row = last_ending(paths)
        wanted = wanted or row is None or options.redo_existing or not is_kept(row, options.retry)
    return wanted


def _has_task(paths: InstancePaths) -> bool:
    return paths.checkpoint.is_symlink() or paths.checkpoint.exists()
