"""Two processes at work at the same time: two runs of the same instances, and one run started twice."""

from tests.soak.invariants import check_end, require
from tests.soak.world import Run, World

_LOCKED = 5


def two_runs(world: World) -> None:
    """Run the same instances under two run ids at once; neither touches the other. Raises Broken."""
    runs = [Run(world, name) for name in ("one", "other")]
    processes = [run.start("--workers", "2") for run in runs]
    for run, process in zip(runs, processes, strict=True):
        _, told = process.communicate(timeout=240)
        require(process.returncode == 0, f"{run.name} ended with {process.returncode}: {told!r}")
    for run in runs:
        check_end(run)
    require(not {one for ids in runs[0].tasks().values() for one in ids} & {
        one for ids in runs[1].tasks().values() for one in ids
    }, "a task belongs to both runs")  # fmt: skip


def one_run_twice(world: World, starts: int = 4) -> None:
    """Start one run several times at once; one process does the work, the others are refused. Raises Broken."""
    run = Run(world, "same")
    processes = [run.start("--workers", "2") for _ in range(starts)]
    told = [process.communicate(timeout=240)[0].decode() for process in processes]
    statuses = sorted(process.returncode for process in processes)
    require(statuses == [0] + [_LOCKED] * (starts - 1), f"they ended with {statuses}: {told}")
    check_end(run)
