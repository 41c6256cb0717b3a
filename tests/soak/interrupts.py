"""Ctrl-C at random moments, each run resumed to its end, and what is left on the engine afterwards."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

from tests.soak.invariants import check_always, check_end, require
from tests.soak.random_kills import SERVER
from tests.soak.world import Run, World

__all__ = ["SERVER", "interrupts"]

_INTERRUPTED = 130
_LONGEST_SEC = 30.0
_LATE = 0.8
"""So many of the interrupts are counted from the admission, the others from the start of the process."""
_LIFE_SEC = 6.0


def interrupts(world: World, count: int, seed: int, say: Callable[[str], None]) -> Counter[str]:
    """Interrupt `count` times; returns how the interrupted processes ended. Raises Broken."""
    chance, endings = random.Random(seed), Counter[str]()
    runs = done = 0
    while done < count:
        run = Run(world, f"interrupted-{runs:03d}")
        while done < count and (ending := _interrupt(run, chance)):
            endings[ending] += 1
            done += 1
            check_always(run)
        _to_the_end(run)
        runs += 1
        say(f"{done:4d} interrupts, {runs} runs: {dict(endings)}")
    return endings


def _interrupt(run: Run, chance: random.Random) -> str:
    """Start the run and send SIGINT some time later; returns how it ended, empty when it was over before."""
    before = run.manifest().get("invocation")
    late = chance.random() < _LATE
    process = run.start("--workers", "3")
    # The way to its admission takes long where the machine is loaded; most interrupts are for what comes after.
    while late and process.poll() is None and run.manifest().get("invocation") == before:
        time.sleep(0.01)
    seconds = chance.uniform(0.05, _LIFE_SEC)
    time.sleep(seconds)
    if process.poll() is not None:
        process.communicate()
        return ""
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    told = process.communicate(timeout=120)[1].decode("utf-8", "replace")
    require(time.monotonic() - asked < _LONGEST_SEC, f"it took {time.monotonic() - asked:.0f} s to end")
    if run.manifest().get("invocation") == before:
        # Python itself may still have been starting; what it says then is not ours.
        return "before it was admitted"
    status, extra = process.returncode, run.manifest()["extra"]
    require("Traceback" not in told, f"a traceback after {seconds:.2f} s: {told}")
    require(status == extra["exit_code"], f"status {status}, recorded {extra['exit_code']}: {told}")
    require(status in (0, _INTERRUPTED), f"status {status} after {seconds:.2f} s: {told}")
    return f"{status} {extra['outcome']}"


def _to_the_end(run: Run) -> None:
    status, told = run.finish("--workers", "3")
    require(status == 0, f"the resume ended with {status}: {told}")
    argv = [sys.executable, "-m", "obo_bench", "programbench", "gc", str(run.root), "--force", "--json"]
    cleaned = subprocess.run(argv, env=run.world.environ, capture_output=True, check=False)
    require(cleaned.returncode == 0, f"gc ended with {cleaned.returncode}: {cleaned.stderr!r}")
    check_end(run)
