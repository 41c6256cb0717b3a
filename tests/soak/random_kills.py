"""SIGKILL at random times over the whole life of runs of several instances, each run started again until it is done."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.soak.invariants import check_always, check_end, require
from tests.soak.world import Run, World

SERVER = ("--scenario", "instant", "--solve-delay-sec", "0.7", "--finalize-delay-sec", "0.3", "--workers", "3")
"""Options of a server for these kills."""
INSTANCES = 4
"""Instances of each run."""
_MOST_STARTS = 200


@dataclass
class Tally:
    """What was done and seen."""

    kills: int = 0
    """Processes of a run killed in the middle of their work."""
    crashes: int = 0
    """Crashes of the server."""
    runs: int = 0
    """Runs brought to their end."""
    tasks: int = 0
    """Tasks taken by the server."""
    statuses: Counter[str] = field(default_factory=Counter)
    """What the checkpoints said at the kills: where in their lives the instances were."""


def random_kills(world: World, count: int, seed: int, crashes: float, say: Callable[[str], None]) -> Tally:
    """Kill `count` times; after each kill the server crashes with the probability `crashes`. Raises Broken."""
    chance, tally = random.Random(seed), Tally()
    life = _life(Run(world, "unharmed"))
    say(f"an unharmed run of {len(world.ids)} instances takes {life:.1f} s")
    while tally.kills < count:
        run = Run(world, f"killed-{tally.runs:03d}")
        _until_done(run, chance, life, crashes, tally, count)
        tally.runs += 1
        tally.tasks += sum(map(len, run.tasks().values()))
        say(f"{tally.kills:4d} kills, {tally.runs} runs, {tally.tasks} tasks, {tally.crashes} crashes of the server")
    return tally


def _life(run: Run) -> float:
    started = time.monotonic()
    status, told = run.finish("--workers", "3")
    require(status == 0, f"the unharmed run ended with {status}: {told}")
    check_end(run)
    return time.monotonic() - started


def _until_done(run: Run, chance: random.Random, life: float, crashes: float, tally: Tally, count: int) -> None:
    crashed = tally.crashes
    for _ in range(_MOST_STARTS):
        killed = tally.kills < count and _start_and_kill(run, chance.uniform(0, life), tally)
        if killed:
            check_always(run)
            if chance.random() < crashes:
                tally.crashes += 1
                run.world.server.crash()
            continue
        status, told = run.finish("--workers", "3")
        if status == 0:
            check_end(run, tasks_each=1 if tally.crashes == crashed else None)
            return
        require(tally.crashes > crashed, f"the restart ended with {status}: {told}")
    require(False, "the run does not come to its end")


def _start_and_kill(run: Run, seconds: float, tally: Tally) -> bool:
    """Start the run and kill it after `seconds`; False when it was over before."""
    process = run.start("--workers", "3")
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if alive:
        tally.kills += 1
        tally.statuses.update(run.checkpoint(one).get("status", "none") for one in run.world.ids)
    return alive
