"""How the requested instances stand, as far as the run's own files tell, before anything is done with them."""

from collections.abc import Sequence
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import DEGRADED, finished_row, is_kept, is_retried, last_ending


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


def unmatched_retries(instance_ids: Sequence[str], options: RunOptions) -> list[str]:
    """Return a notice for each --retry that nothing has ended with: reasons are an open set, so it may be a typo.

    Raises PreflightRefused `nothing_to_retry` where nothing has ended at all: with a mistyped run id, all tasks of a
    new run would be paid for.
    """
    ended = set()
    for name in instance_ids:
        row = last_ending(InstancePaths(options.run_root, name))
        if row is not None:
            ended |= {row.reason_code} | ({DEGRADED} if row.details.get("degraded") else set())
    if options.retry and not ended:
        words = " ".join(f"--retry {reason}" for reason in options.retry)
        raise PreflightRefused(
            "nothing_to_retry",
            f"{words}: no instance of run {options.run_root.name!r} has ended yet",
            evidence={"retry": list(options.retry), "run_id": options.run_root.name},
        )
    return [
        f"--retry {reason}: no instance of this run has ended with it; they ended with {', '.join(sorted(ended))}"
        for reason in options.retry
        if reason not in ended
    ]


def _has_task(paths: InstancePaths) -> bool:
    return paths.checkpoint.is_symlink() or paths.checkpoint.exists()
