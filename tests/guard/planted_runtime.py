"""Plant violations where every run passes, and see whether the run-time guards report them."""

import random
from collections.abc import Sequence
from pathlib import Path

from tests.guard.invocations import World
from tests.guard.kinds import VIOLATIONS
from tests.guard.places import Places, Plant
from tests.guard.planted import make_copy, marked_lines
from tests.guard.runtime import Event, record
from tests.guard.traced import Call, trace
from tests.guard.walk import Walk

COMMAND = "programbench run"
"""The command under which they are run."""

PASSED = frozenset(
    {
        "obo_bench.cli.programbench:run",
        "obo_bench.cli.arguments:run_root",
        "obo_bench.core.roots:runs_root",
        "obo_bench.core.roots:check_run_id",
        "obo_bench.programbench.run:run_programbench",
        "obo_bench.programbench.run:admission",
        "obo_bench.core.session:admit_benchmark_run",
        "obo_bench.core.session:Session.open",
        "obo_bench.core.record:ManifestStore.prepare",
        "obo_bench.core.lock:RunLock.acquire",
    }
)
"""Functions that this command passes through before its manifest exists."""

AUDITED = (
    *("import docker", "open", "Path.read_text", "Path.mkdir"),
    *("importlib", "Path.iterdir", "Path.write_text", "os.listdir"),
    *("docker.from_env", "os.system", "subprocess.run", "socket"),
    *("exec", "urllib", "git helper", "state dump"),
    *("httpx.get", "tempfile", "glob", "sqlite3"),
)
"""Kinds that leave an audit event; those of one line share a process, in which a second import would leave none."""

PROBED = ("Path.exists", "os.access")
"""Kinds that leave none."""

_TOGETHER = 4


def certain_plants(kinds: Sequence[str], walk: Walk, sources: Path, seed: int) -> list[Plant]:
    """Return one plant of each kind, at places that every run of the command passes."""
    places, dice = Places(walk, sources), random.Random(seed)
    sites = places.certain(PASSED)
    dice.shuffle(sites)
    found = []
    for number, name in enumerate(kinds):
        mark = f"# planted {number}."
        edits = places.suffered(VIOLATIONS[name], mark, sites[number % len(sites)])
        found.append(Plant(number, name, "statement", edits))
    return found


def audited(plants: Sequence[Plant], sources: Path, work: Path) -> dict[str, list[Event]]:
    """Run copies with the plants under the audit hook; returns the violations that lead to each kind's lines."""
    told: dict[str, list[Event]] = {}
    for start in range(0, len(plants), _TOGETHER):
        group = plants[start : start + _TOGETHER]
        copy = make_copy(sources, work / f"audited-{start}", group)
        recording = record(World(copy / "world").prepare(), COMMAND, copy / "obo_bench")
        violations = recording.violations()
        for plant in group:
            lines = {(str(copy / file), number) for file, number, _ in marked_lines(copy, plant)}
            told[plant.kind] = [v for v in violations if lines & {(file, line) for file, line, _ in v.stack}]
    return told


def probed(plant: Plant, sources: Path, work: Path) -> list[Call]:
    """Run a copy with one plant under strace; returns the violations."""
    copy = make_copy(sources, work / f"probed-{plant.number}", [plant])
    return trace(World(copy / "world").prepare(), COMMAND, copy / "obo_bench").violations()
