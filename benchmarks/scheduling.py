"""Measure N instant instances with W workers against the ideal N/W: `python -m benchmarks.scheduling`.

The ideal is N/W times what one instance takes with one worker, the median in the same run. Two worlds:

* pauses: the real scheduler and ledger, each instance a pause of a quarter of a second and its row. A pause needs no
  processor, as the hours of a real solve do not, so what is lost here the scheduler loses. The budget is judged here.
* Docker: whole runs of light practice instances on the engine, with a server whose tasks are over at once. All they
  need is the engine and the processors, of which W workers do not find W times as many; so the same operations with
  Docker's SDK alone, in W threads, tell what the machine can do, and the ratio to those is shown.

Ends with 1 when the pauses take more than 1.2 times the ideal. Numbers of instances may be given, for both worlds.
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import docker

from benchmarks.docker_alone import DockerAlone
from benchmarks.load import load
from benchmarks.run_log import Moment, by_phase, moments
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ledger import Row
from obo_bench.core.session import benchmark_session
from obo_bench.practice.images import image_reference
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.scheduler import run_all
from tests.run_context import context_of
from tests.soak.world import Run, World, world

PAUSES, LIGHT = 48, 16
WORKERS = (1, 2, 4, 8)
PAUSE_SEC = 0.25
MOST_TIMES_IDEAL = 1.2
SERVER = ("--scenario", "instant", "--finalize-delay-sec", "0", "--workers", str(WORKERS[-1]))
SERIES = 72
"""Keeps the names of the instances apart from those of a soak that runs at the same time."""


def pauses(place: Path, count: int, workers: int) -> tuple[float, float]:
    """Schedule `count` pauses; return the wall seconds of all, and the median of one."""
    took: list[float] = []

    def solve(context: RunContext, instance: Instance) -> Row:
        started = time.perf_counter()
        attempt = context.attempts[instance.instance_id] = Attempt(context, instance, 1)
        context.paths(instance.instance_id).directory.mkdir()
        time.sleep(PAUSE_SEC)
        row = attempt.row("completed", "submission_prepared")
        took.append(time.perf_counter() - started)
        return row

    request = AdmissionRequest("programbench", "programbench run", place / f"pauses-{workers}", place / "checkout")
    names = [f"benchmark__pause.{number:07d}" for number in range(count)]
    with benchmark_session(request) as session:
        chosen = [Instance(name, "c", "easy", "a/b", "0" * 40, "image", ()) for name in names]
        started = time.perf_counter()
        run_all(context_of(session, workers), chosen, solve)
        wall = time.perf_counter() - started
        session.conclude("completed", 0)
    return wall, median(took)


def compare_pauses(place: Path, count: int) -> float:
    """Tell how the pauses were scheduled; return the worst ratio to the ideal."""
    make_seed_checkout(place / "checkout")
    taken = {workers: pauses(place, count, workers) for workers in WORKERS}
    single = taken[1][1]
    print(f"{count} pauses of {PAUSE_SEC} s; one takes {single:.3f} s; {load()}")  # noqa: T201
    ratios = {workers: wall / (single * count / workers) for workers, (wall, _) in taken.items()}
    for workers, ratio in ratios.items():
        ideal = single * count / workers
        told = f"ideal {ideal:6.2f} s  took {taken[workers][0]:6.2f} s  ratio {ratio:.3f}"
        print(f"  {workers} workers  {told} (budget {MOST_TIMES_IDEAL})")  # noqa: T201
    return max(ratios.values())


def whole_run(place: World, workers: int) -> list[Moment]:
    """Run all light instances on Docker; return what the log tells of it."""
    run = Run(place, f"workers-{workers}")
    status, told = run.finish("--workers", str(workers))
    if status:
        raise RuntimeError(f"the run ended with {status}: {told[-2000:]}")
    return moments(run.root)


def docker_alone(place: World, workers: int) -> float:
    """Return the wall seconds of the engine's part of all instances, in so many threads."""
    workspace = place.directory / "workspace-of-docker-alone"
    workspace.mkdir(exist_ok=True)
    client = docker.from_env(timeout=120, max_pool_size=2 * WORKERS[-1])

    def one(name: str) -> None:
        DockerAlone(client, image_reference(name), workspace).run()

    try:
        started = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, place.ids))
        return time.perf_counter() - started
    finally:
        client.close()


def compare_runs(place: World) -> None:
    """Tell how long whole runs took, beside the ideal and beside the engine's part alone."""
    count, single = len(place.ids), 0.0
    print(f"{count} light instances on Docker; {load()}")  # noqa: T201
    for workers in WORKERS:
        found = whole_run(place, workers)
        begun = [moment.at for moment in found if moment.instance_id]
        # The last worker's clearing away ends where nothing else is told, so it is left out of all of them.
        wall, alone = begun[-1] - begun[0], docker_alone(place, workers)
        if workers == 1:
            single = median(sum(by_phase(found)[name].values()) for name in place.ids)
        ideal = single * count / workers
        told = f"ideal {ideal:6.2f} s  took {wall:6.2f} s  ratio {wall / ideal:.2f}"
        print(f"  {workers} workers  {told}  docker alone {alone:6.2f} s  {wall / alone:.2f}x", flush=True)  # noqa: T201


def main() -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    count, light = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (PAUSES, LIGHT)
    with tempfile.TemporaryDirectory(prefix="obo-bench-scheduling-") as directory:
        base = Path(directory).resolve()
        worst = compare_pauses(base, count)
        with world(base / "docker", light, *SERVER, series=SERIES) as place:
            compare_runs(place)
    kept = worst <= MOST_TIMES_IDEAL
    print("budget kept" if kept else "BUDGET BROKEN")  # noqa: T201
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
