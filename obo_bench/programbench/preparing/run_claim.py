"""The whole run for one step of `prepare`: its grades are written over all instances, and others may be at work on it.

`prepare` holds the lock of its instance only, so that instances can be prepared at the same time.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from obo_bench.core.lock import RunLock
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.programbench.preparing.options import PrepareOptions

WAIT_SEC = 3600.0
"""How long another command at work on the run is waited for."""


@contextmanager
def claimed_run(
    options: PrepareOptions, invocation: str, reporter: Reporter, *, wait_sec: float = WAIT_SEC
) -> Iterator[None]:
    """Hold the lock that `run` and `eval` of this run hold.

    Raises PreflightRefused: `run_locked` after `wait_sec` seconds, `resume_config_mismatch` where the run has become
    another command's; OSError.
    """
    refuse_foreign_run(options)
    lock = RunLock(options.run, invocation)
    try:
        left_behind = lock.acquire()
    except PreflightRefused as refusal:
        if not wait_sec:
            raise
        refusal.settle()
        reporter.event(f"{refusal.message}: waiting for it, at most {wait_sec:g} s", options.instance_id)
        left_behind = lock.acquire_within(wait_sec)
    try:
        # Whoever was waited for may have been a new `run`.
        refuse_foreign_run(options)
        yield
    finally:
        lock.release(left_behind)


def refuse_foreign_run(options: PrepareOptions) -> None:
    """Raise PreflightRefused `resume_config_mismatch` for the run of another command.

    It keeps its own account of its instances, and may be solving one at this moment.
    """
    manifest = options.run / MANIFEST_NAME
    if not manifest.is_symlink() and not manifest.exists():
        return
    raise PreflightRefused(
        "resume_config_mismatch",
        f"{str(options.run)!r} is a run of its own ({MANIFEST_NAME} is there): its instances are not prepared by hand",
        evidence={"key": "run_root", "manifest": str(manifest)},
        remedy="choose another --run-id",
    )
