"""Measure admission on a checkout of 50,000 files against a bare `git status`: `python -m benchmarks.admission`.

Prints one line for each state of the checkout and ends with 1 when a budget is broken: the whole admission may take at
most twice as long as `git status`, and the process tree may hold at most 150 MB. Needs Linux, for /proc.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.memory import Peak
from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.seed.gate import examine_seed
from obo_bench.core.session import Session, admit_benchmark_run, finalize_run_manifest

FILES = 50_000
UNTRACKED = 5_000
BINARY_BYTES = 300 << 20
ROUNDS = 9
MOST_TIMES_SLOWER = 2.0
MOST_MEMORY = 150_000_000


@dataclass
class Measured:
    """The seconds that each contender took, by round, and what it took in memory."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    peak: Peak = field(default_factory=Peak)

    def best(self, contender: str) -> float:
        """Return the shortest time: the others were disturbed."""
        return min(self.seconds[contender])

    def ratio(self, contender: str) -> float:
        """Return how many times slower than `git status` it is."""
        return self.best(contender) / self.best("status")

    @property
    def within_budget(self) -> bool:
        """Whether speed and memory are what the design allows."""
        return self.ratio("admission") <= MOST_TIMES_SLOWER and self.peak.bytes <= MOST_MEMORY


def git(checkout: Path, *arguments: str) -> None:
    """Run git for its effect."""
    settings = {
        "user.name": "benchmark",
        "user.email": "benchmark@localhost",
        "core.compression": "0",
        # Git would do it in the background, during the measurement.
        "gc.auto": "0",
        # Git would look for similar contents in the large file.
        "core.bigFileThreshold": "1m",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    subprocess.run(["git", *options, "-C", str(checkout), *arguments], check=True, stdout=subprocess.DEVNULL)


def build(checkout: Path) -> None:
    """Make the checkout: modules in 500 directories, and one large binary that stays as it is at first."""
    for at in range(FILES - 2):
        directory = checkout / f"package_{at % 500:03}"
        if at < 500:
            directory.mkdir(parents=True)
        (directory / f"module_{at:05}.py").write_text(f"value = {at}\n")
    (checkout / "VERSION").write_text("6.75.0\n")
    with (checkout / "large.bin").open("wb") as stream:
        for _ in range(BINARY_BYTES >> 20):
            stream.write(os.urandom(1 << 20))
    git(checkout, "init", "--quiet", "--initial-branch=main")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "All files")
    git(checkout, "gc", "--quiet")
    # Git reads again what changed in the same second as its index; then the index remembers it for good.
    time.sleep(1.1)
    git(checkout, "status")


def clean(_: Path) -> None:
    """Leave the checkout as it was committed."""


def untracked(checkout: Path) -> None:
    """Add files that git does not know, spread over the directories."""
    for at in range(UNTRACKED):
        (checkout / f"package_{at % 500:03}" / f"new_{at:05}.py").write_text("")


def modified_binary(checkout: Path) -> None:
    """Change one byte of the large binary: with its size unchanged, only reading it tells."""
    git(checkout, "clean", "--quiet", "--force", "-d")
    with (checkout / "large.bin").open("r+b") as stream:
        stream.write(b"changed")


def measure(checkout: Path, run_roots: Path, rounds: int) -> Measured:
    """Time the contenders in turn, so that what disturbs the machine disturbs them alike."""
    measured = Measured()
    numbers = itertools.count()

    def status() -> None:
        subprocess.run(["git", "-C", str(checkout), "status"], check=True, stdout=subprocess.DEVNULL)

    def examination() -> None:
        examine_seed(checkout, SeedDemands(allow_dirty=True))

    def admission() -> None:
        root = run_roots / f"{checkout.name}-{time.time_ns()}-{next(numbers)}"
        demands = SeedDemands(allow_dirty=True)
        sessions.append(admit_benchmark_run(AdmissionRequest("benchmark", "admission", root, checkout, seed=demands)))

    sessions: list[Session] = []
    contenders: dict[str, Callable[[], None]] = {"status": status, "examination": examination, "admission": admission}
    for _ in range(rounds):
        for name, contender in contenders.items():
            started = time.perf_counter()
            contender()
            measured.seconds.setdefault(name, []).append(time.perf_counter() - started)
            _finish(sessions)
    with measured.peak.watching():
        admission()
    _finish(sessions)
    return measured


def _finish(sessions: list[Session]) -> None:
    while sessions:
        with finalize_run_manifest(sessions.pop()):
            pass


def main() -> int:
    """Print the measurements; returns 1 when a budget is broken."""
    states: dict[str, tuple[Callable[[Path], None], int]] = {
        "clean": (clean, ROUNDS),
        f"{UNTRACKED} untracked files": (untracked, ROUNDS),
        f"a modified binary of {BINARY_BYTES >> 20} MB": (modified_binary, 3),
    }
    print(f"a checkout of {FILES} files; best of {ROUNDS}, in turn (of 3 with the binary)")  # noqa: T201
    kept = True
    with tempfile.TemporaryDirectory(prefix="obo-bench-admission-") as place:
        checkout, run_roots = Path(place) / "checkout", Path(place) / "runs"
        build(checkout)
        for state, (change, rounds) in states.items():
            change(checkout)
            measured = measure(checkout, run_roots, rounds)
            print(_line(state, measured), flush=True)  # noqa: T201
            kept = kept and measured.within_budget
    print("budgets kept" if kept else "BUDGET BROKEN: twice the time of git status, 150 MB")  # noqa: T201
    return 0 if kept else 1


def _line(state: str, measured: Measured) -> str:
    times = ", ".join(
        f"{name} {measured.best(name) * 1000:.0f} ms ({measured.ratio(name):.2f}x)"
        for name in ("examination", "admission")
    )
    bare = f"git status {measured.best('status') * 1000:.0f} ms"
    return f"{state + ':':32} {bare}, {times}, peak {measured.peak.bytes / 1e6:.0f} MB"


if __name__ == "__main__":
    sys.exit(main())
