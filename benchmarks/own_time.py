"""Measure our own time for each instance, everything but solve and evaluator: `python -m benchmarks.own_time`.

A real run on Docker with one worker, light practice instances and a stand-in server whose tasks are over at once, so
that the wait for a task is ours, too. The log of the run tells how long each phase took, the ledger's durations are
shown beside; the same operations of the engine are done with Docker's SDK alone, before the run and after it. Ends with
1 when an instance takes 3 s of ours or more. A number of instances may be given.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import docker

from benchmarks.docker_alone import DockerAlone
from benchmarks.load import load
from benchmarks.run_log import by_phase, moments
from obo_bench.practice.images import image_reference
from tests.soak.world import Run, World, world

INSTANCES = 12
LONGEST_SEC = 3.0
SERVER = ("--scenario", "instant", "--finalize-delay-sec", "0", "--workers", "1")
SERIES = 71
"""Keeps the names of the instances apart from those of a soak that runs at the same time."""
Phases = Mapping[str, float]


def docker_alone(place: World, rounds: int) -> list[Phases]:
    """Return what the engine's part takes by itself, so many times."""
    client = docker.from_env(timeout=120)
    workspace = place.directory / "workspace-of-docker-alone"
    workspace.mkdir(exist_ok=True)
    image = image_reference(place.ids[0])
    try:
        return [DockerAlone(client, image, workspace).run() for _ in range(rounds)]
    finally:
        client.close()


def ours(place: World) -> tuple[list[Phases], list[dict[str, Any]]]:
    """Run all instances, one after the other; return the phases of each, and the ledger's rows."""
    run = Run(place, "own-time")
    status, told = run.finish("--workers", "1")
    if status:
        raise RuntimeError(f"the run ended with {status}: {told[-2000:]}")
    lasted = by_phase(moments(run.root))
    return [lasted[name] for name in place.ids], run.rows()


def medians(found: Sequence[Phases]) -> dict[str, float]:
    """Return the median of each phase; one that an instance did not have took no time."""
    names = dict.fromkeys(name for phases in found for name in phases)
    return {name: median(phases.get(name, 0.0) for phases in found) for name in names}


def show(own: Sequence[Phases], alone: Sequence[Phases]) -> float:
    """Print the table, phase by phase; return the median seconds of a whole instance."""
    mine, bare = medians(own), medians(alone)
    whole, least = (median(sum(phases.values()) for phases in found) for found in (own, alone))
    for name, seconds in mine.items():
        print(_line(name, seconds, bare.get(name)))  # noqa: T201
    print(f"{_line('whole instance', whole, least)}  (budget {LONGEST_SEC:g} s)")  # noqa: T201
    print(f"share of Docker {least / whole:.0%}, slowest instance {max(map(_total, own)):.2f} s")  # noqa: T201
    return whole


def _line(name: str, seconds: float, bare: float | None) -> str:
    told = f"ours {seconds:6.3f} s"
    return (
        f"{name:22} {told}" if bare is None else f"{name:22} {told}  docker alone {bare:6.3f} s  {seconds / bare:5.2f}x"
    )


def _total(phases: Phases) -> float:
    return sum(phases.values())


def main() -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else INSTANCES
    with (
        tempfile.TemporaryDirectory(prefix="obo-bench-own-time-") as directory,
        world(Path(directory).resolve(), count, *SERVER, series=SERIES) as place,
    ):
        half = (count + 1) // 2
        alone = docker_alone(place, half)
        own, rows = ours(place)
        alone += docker_alone(place, half)
    print(f"{count} instances, images present, one worker; medians; {load()}")  # noqa: T201
    whole = show(own, alone)
    told = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in medians([row["durations"] for row in rows]).items())
    print(f"durations in the ledger: {told}")  # noqa: T201
    kept = whole < LONGEST_SEC
    print("budget kept" if kept else "BUDGET BROKEN")  # noqa: T201
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
