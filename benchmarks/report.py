"""Measure how long the page of a run takes to make: `python -m benchmarks.report [INSTANCES [ROUNDS]]`.

Prints it beside a plain `json.loads` of every record that the run left, for so many instances and for twice as many,
and ends with 1 when the budget is broken: the page takes at most 40 times as long as the reading alone, and at most 3
times as long for twice the instances. Each figure is the best of its rounds.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import load
from obo_bench.report.document.build import build_report
from obo_bench.report.html.page import html
from tests.report_case import long_run

INSTANCES = 200
ROUNDS = 5
MOST_GROWTH = 3.0
MOST_RATIO = 40.0
_ERROR = "e" * 10_000
"""A foreign message as long as a traceback may be."""


def plain(root: Path) -> None:
    """Parse every record, as a script would."""
    for path in root.rglob("*.json"):
        json.loads(path.read_bytes())
    for line in (root / "result_index.jsonl").read_bytes().splitlines():
        json.loads(line)


def page(root: Path) -> None:
    """Make the page."""
    html(build_report(root, root))


def best(contender: Callable[[Path], None], root: Path, rounds: int) -> float:
    """Return the shortest of so many times, in seconds."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        contender(root)
        took.append(time.perf_counter() - began)
    return min(took)


def main(instances: int = INSTANCES, rounds: int = ROUNDS) -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    print(f"best of {rounds}; {load()}")  # noqa: T201
    made: dict[int, float] = {}
    ratios: list[float] = []
    with tempfile.TemporaryDirectory(prefix="obo-bench-report-") as place:
        for count in (instances, 2 * instances):
            root = long_run(Path(place) / str(count), count, error=_ERROR)
            alone, made[count] = best(plain, root, rounds), best(page, root, rounds)
            ratios.append(made[count] / alone)
            told = f"json.loads alone {alone:.3f} s, page {made[count]:.3f} s"
            print(f"{count} instances: {told}, ratio {ratios[-1]:.1f} (budget {MOST_RATIO:g})", flush=True)  # noqa: T201
    growth = made[2 * instances] / made[instances]
    print(f"twice the instances: {growth:.2f} times as long (budget {MOST_GROWTH:g})")  # noqa: T201
    kept = growth <= MOST_GROWTH and max(ratios) <= MOST_RATIO
    print("budget kept" if kept else "BUDGET BROKEN")  # noqa: T201
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
