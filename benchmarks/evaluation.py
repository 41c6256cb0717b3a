"""Measure `obo-bench eval` against `programbench eval` on the same submissions: `python -m benchmarks.evaluation`.

Each instance is evaluated by an official process of its own, which costs a fixed time. Two measurements tell how much:
practice submissions as they are (a few seconds each, so that the fixed cost shows), and one whose build takes 120 s,
which is still far less than a real instance needs. Ends with 1 when the second ratio breaks the budget of 1.05.
Processor seconds are those of the commands without the engine's; they tell the cost on a busy host, too. Needs Docker
and the official package; give a smaller number of build seconds for a quick look.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.images import ensure_images
from obo_bench.practice.main_job import practice_environment
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask

BUILD_SEC = 120
ROUNDS = 3
MOST_TIMES_SLOWER = 1.05
CPUS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class Taken:
    """What a command took, in seconds."""

    wall: float
    """By the clock."""
    cpu: float
    """Of the processors, in the command and its children."""


def build(root: Path, tasks: Sequence[PracticeTask], build_sec: int) -> None:
    """Make a directory of right submissions whose builds take so many seconds."""
    for task in tasks:
        archive = root / task.instance_id / "submission.tar.gz"
        archive.parent.mkdir(parents=True)
        with tarfile.open(archive, "w:gz") as stream:
            for name, (content, mode) in {"./": (b"", 0o755), **task.solution("solved")}.items():
                slow = name == "compile.sh" and build_sec
                data = content.replace(b"\n", b"\nsleep %d\n" % build_sec, 1) if slow else content
                member = tarfile.TarInfo(name if name == "./" else f"./{name}")
                member.type = tarfile.DIRTYPE if name == "./" else tarfile.REGTYPE
                member.size, member.mode = len(data), mode
                stream.addfile(member, BytesIO(data) if data else None)


def taken(source: Path, argv: list[str], environ: Mapping[str, str]) -> Taken:
    """Return what a command takes on a fresh copy of the submissions; RuntimeError when one gets no result."""
    with tempfile.TemporaryDirectory(prefix="obo-bench-benchmark-") as base:
        root = Path(base) / "run"
        shutil.copytree(source, root)
        before, started = os.times(), time.monotonic()
        subprocess.run([*argv, str(root)], env=dict(environ), check=True, capture_output=True)
        wall, after = time.monotonic() - started, os.times()
        submitted, results = (len(list(root.glob(pattern))) for pattern in ("*/*.tar.gz", "*/*.eval.json"))
    if results != submitted:
        raise RuntimeError(f"{argv}: {results} results for {submitted} submissions")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Taken(wall, used)


def measure(source: Path, environ: Mapping[str, str], rounds: int) -> tuple[Taken, Taken]:
    """Return the best of the official command and of ours, taken in turn."""
    official = [str(Path(sys.executable).with_name("programbench")), "eval", "--docker-cpus", str(CPUS)]
    ours = [sys.executable, "-m", "obo_bench", "eval", "--docker-cpus", str(CPUS)]
    times = [(taken(source, official, environ), taken(source, ours, environ)) for _ in range(rounds)]
    return best(first for first, _ in times), best(second for _, second in times)


def best(times: Iterable[Taken]) -> Taken:
    """Return the shortest of both: what is longer was disturbed."""
    found = list(times)
    return Taken(min(one.wall for one in found), min(one.cpu for one in found))


def compare(source: Path, name: str, environ: Mapping[str, str], rounds: int) -> float:
    """Measure one directory, tell of it, and return the ratio."""
    official, ours = measure(source, environ, rounds)
    number = len(list(source.iterdir()))
    ratio, wall, cpu = ours.wall / official.wall, ours.wall - official.wall, ours.cpu - official.cpu
    sys.stdout.write(
        f"{name:<16} official {official.wall:7.2f} s  ours {ours.wall:7.2f} s  ratio {ratio:.3f}  "
        f"per instance {wall / number:+.2f} s, processor {cpu / number:+.2f} s\n"
    )
    sys.stdout.flush()
    return ratio


def main() -> int:
    """Measure both and tell of them; return the status to end with."""
    build_sec = int(sys.argv[1]) if len(sys.argv) > 1 else BUILD_SEC
    ensure_images(PRACTICE_TASKS, SilentReporter())
    with tempfile.TemporaryDirectory(prefix="obo-bench-benchmark-") as base:
        environ = practice_environment(Path(base))
        quick, slow = Path(base) / "quick", Path(base) / "slow"
        build(quick, PRACTICE_TASKS, 0)
        build(slow, PRACTICE_TASKS[:1], build_sec)
        compare(quick, "quick builds", environ, ROUNDS)
        ratio = compare(slow, f"a {build_sec} s build", environ, 1)
    within = ratio <= MOST_TIMES_SLOWER
    sys.stdout.write(f"budget {MOST_TIMES_SLOWER}: {'kept' if within else 'BROKEN'}\n")
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
