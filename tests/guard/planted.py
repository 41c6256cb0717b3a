"""Plant violations at random places in copies of the package, and see whether the static guard reports each."""

import ast
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guard.findings import Finding
from tests.guard.kinds import Kind
from tests.guard.places import WAYS, Edit, Places, Plant
from tests.guard.static import Command, walk_commands
from tests.guard.walk import Walk

TOGETHER = 8
"""Plants in one copy, at different places; each has to be reported by its own line."""


@dataclass(frozen=True)
class Verdict:
    """What became of one plant."""

    plant: Plant
    """The plant."""
    findings: tuple[Finding, ...]
    """The violations that lead to one of its lines."""
    lines: tuple[str, ...]
    """Its lines, as `file:line: text`."""

    def __str__(self) -> str:
        return f"{self.plant.kind} as {self.plant.way} (plant {self.plant.number}):\n  " + "\n  ".join(self.lines)


def plants(kinds: Mapping[str, Kind], walk: Walk, sources: Path, seed: int, rounds: int = 1) -> list[Plant]:
    """Return plants of every kind, `rounds` of each, in ways that take turns, at places that the seed decides."""
    places, dice = Places(walk, sources), random.Random(seed)
    ways = list(WAYS)
    dice.shuffle(ways)
    found: list[Plant] = []
    for number, name in enumerate(name for _ in range(rounds) for name in kinds):
        kind = kinds[name]
        usable = [way for way in ways if kind.expression != "None" or WAYS[way] in _STATEMENTS]
        way = usable[number % len(usable)]
        mark = f"# planted {number}."
        found.append(Plant(number, name, way, WAYS[way](places, kind, mark, dice)))
    return found


_STATEMENTS = (
    Places.statement,
    Places.branch,
    Places.cleanup,
    Places.local_function,
    Places.helper,
    Places.two_deep,
    Places.top,
    Places.decorator,
    Places.property_read,
)
"""Ways that take an import for itself."""


def judge(all_plants: Sequence[Plant], sources: Path, work: Path, commands: list[Command]) -> Iterator[Verdict]:
    """Walk copies of the package with the plants in them, and yield what was said of each."""
    for start in range(0, len(all_plants), TOGETHER):
        group = all_plants[start : start + TOGETHER]
        copy = make_copy(sources, work / f"copy-{start}", group)
        _, findings = walk_commands(copy / "obo_bench", commands)
        for plant in group:
            lines = {f"{file}:{number}": text for file, number, text in marked_lines(copy, plant)}
            told = [found for found in findings if any(str(frame) in lines for frame in found.via)]
            yield Verdict(plant, tuple(told), tuple(f"{place}: {text.strip()}" for place, text in lines.items()))
        shutil.rmtree(copy)


def make_copy(sources: Path, target: Path, group: Sequence[Plant]) -> Path:
    """Copy the package below `target` (unchanged files are linked) and apply the plants' edits."""
    shutil.copytree(
        sources / "obo_bench",
        target / "obo_bench",
        copy_function=os.link,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    edits: dict[str, list[Edit]] = {}
    for plant in group:
        for file, found in plant.edits.items():
            edits.setdefault(file, []).extend(found)
    for file, found in edits.items():
        path = target / file
        text = path.read_text("utf-8") if path.exists() else ""
        path.unlink(missing_ok=True)
        path.write_text(_edited(text, found), "utf-8")
        ast.parse(path.read_text("utf-8"), str(path))
    return target


def _edited(text: str, edits: list[Edit]) -> str:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    # In one place, what ends with a decorator comes last: it belongs to the function that follows.
    order = sorted(
        edits, key=lambda edit: (edit.start, any(line.lstrip().startswith("@planted") for line in edit.lines))
    )
    for edit in reversed(order):
        first, last = (starts[min(line - 1, len(starts) - 1)] + column for line, column in (edit.start, edit.end))
        data = data[:first] + "\n".join(edit.lines).encode() + data[last:]
    return data.decode()


def marked_lines(copy: Path, plant: Plant) -> Iterator[tuple[str, int, str]]:
    """Yield file, number and text of the lines of a plant in a copy."""
    for file in plant.edits:
        for number, line in enumerate((copy / file).read_text("utf-8").splitlines(), 1):
            if plant.mark in line:
                yield file, number, line
