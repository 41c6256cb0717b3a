"""Many instances, an instant solver and several workers on real Docker: time, memory, and that nothing is missing."""

import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.practice.standin import parse_fault
from obo_bench.practice.standin.faults import chaos
from tests.soak.invariants import check_always, check_end, require
from tests.soak.world import Run, World

MOST_MIB = 250.0
"""Budget for the memory of the process."""
_MOST_STARTS = 40


def server_options(workers: int, probability: float, seed: int) -> tuple[str, ...]:
    """Return the options of a server with so many workers and faults."""
    speed = ("--scenario", "instant", "--finalize-delay-sec", "0", "--workers", str(workers))
    return (*speed, "--chaos", str(probability), "--seed", str(seed))


@dataclass(frozen=True)
class Ended:
    """One process of a run."""

    status: int
    """Its exit status."""
    seconds: float
    """How long it took."""
    peak_mib: float
    """The most memory it ever held."""


def many(world: World, workers: int, probability: float, seed: int, say: Callable[[str], None]) -> list[Ended]:
    """Run all instances, again until all are done if there are faults; raises Broken."""
    run, ended = Run(world, f"many-{seed}"), list[Ended]()
    for _ in range(_MOST_STARTS):
        ended.append(_measured(run, workers))
        done = sum(row["status"] == "completed" for row in run.rows())
        say(f"{ended[-1]}, {done} of {len(world.ids)} done")
        if run.nonce():
            check_always(run)
        if ended[-1].status == 0:
            break
        require(probability, f"without a fault it ended with {ended[-1].status}")
    else:
        require(False, "it does not come to its end")
    require(ended[-1].peak_mib < MOST_MIB, f"it took {ended[-1].peak_mib} MiB")
    check_end(run, tasks_each=None if probability else 1)
    _check_plan(run, probability, seed)
    return ended


def _measured(run: Run, workers: int) -> Ended:
    started = time.monotonic()
    process = run.start("--workers", str(workers))
    drains = [threading.Thread(target=pipe.read) for pipe in (process.stdout, process.stderr) if pipe]
    for drain in drains:
        drain.start()
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, _peak_mib(process.pid))
        time.sleep(0.05)
    for drain in drains:
        drain.join()
    _close(process)
    return Ended(process.returncode, round(time.monotonic() - started, 1), round(peak, 1))


def _peak_mib(pid: int) -> float:
    """Return the most memory that a process has held; the rusage of a child would count what its parent held."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def _close(process: "subprocess.Popen[Any]") -> None:
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _check_plan(run: Run, probability: float, seed: int) -> None:
    """Which tasks are struck follows from their ids: exactly those have a successor, and nobody else."""
    planned = [parse_fault(fault.text) for fault in chaos(probability) if fault.where == "work"] if probability else []
    for instance_id, ids in run.tasks().items():
        for task_id in ids:
            struck = any(fault.falls_on(task_id, seed) for fault in planned)
            require(
                struck == (task_id != ids[-1]),
                f"{instance_id}: {task_id} of {ids} was {'' if struck else 'not '}to be struck",
            )
