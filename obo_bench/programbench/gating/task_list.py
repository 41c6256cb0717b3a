"""The tasks that a gate looks at: given as lists, or drawn with a seed that can be checked.

A list has one id a line and `#` begins a comment, as for `run --ids-file`. The comments `# smoke` and `# unseen` begin
the two groups. A comment that tells a draw is believed only when the draw gives the same tasks again.
"""

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from obo_bench.core.peek import peek
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.gating.draw import Draw, catalogue_sha256, draw_tasks, told_draw
from obo_bench.programbench.gating.options import TaskSource
from obo_bench.programbench.gating.scores import InputFile
from obo_bench.programbench.instances import Instance

Group = Literal["smoke", "unseen", "listed"]

_LARGEST_LIST = 1 << 20
_HEADINGS: Mapping[str, Group] = {"# smoke": "smoke", "# unseen": "unseen"}
_SHOWN = 100


@dataclass(frozen=True)
class TaskList:
    """The tasks of a gate."""

    groups: Mapping[str, Group]
    """Group by id, in order."""
    inputs: tuple[InputFile, ...]
    """The lists that were read."""
    draw: Draw | None
    """How they were drawn; None for given tasks."""


def read_tasks(source: TaskSource, instances: Mapping[str, Instance]) -> TaskList:
    """Return the tasks; raises PreflightRefused `ids_file_unreadable`, `unknown_instance` or `dataset_unavailable`."""
    reading = _Reading(instances)
    if source.tasks is not None:
        reading.add("tasks", source.tasks, "listed")
    if source.smoke is not None:
        reading.add("smoke-ids-file", source.smoke, "smoke")
    if source.unseen is not None:
        reading.add("unseen-ids-file", source.unseen, "unseen")
    if source.seed is not None:
        reading.draw(source.seed, given=source.smoke is not None)
    return TaskList(reading.groups, tuple(reading.inputs), reading.told)


class _Reading:
    """Collects the tasks of all lists."""

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        self._instances = instances
        self.groups: dict[str, Group] = {}
        self.inputs: list[InputFile] = []
        self.told: Draw | None = None

    def add(self, role: str, path: Path, group: Group) -> None:
        """Add the tasks of one list."""
        before = len(self.groups)
        data = _read(role, path)
        for line, instance_id, heading in _entries(role, path, data):
            self._take(f"--{role} {str(path)!r}, line {line}", instance_id, heading or group)
        if len(self.groups) == before:
            raise _unusable(f"--{role} {str(path)!r} names no task", path)
        self.inputs.append(InputFile(role, str(path), "ids", hashlib.sha256(data).hexdigest()))
        told = [draw for text in data.decode("utf-8").splitlines() if (draw := told_draw(text))]
        if told:
            self._believe(told[0], path)

    def draw(self, seed: int, *, given: bool) -> None:
        """Draw what was not given."""
        drawn = draw_tasks(list(self._instances.values()), seed, self._of("smoke") if given else None)
        self.groups.update(dict.fromkeys(drawn.smoke, "smoke"))
        self.groups.update(dict.fromkeys(drawn.unseen, "unseen"))
        self.told = drawn.draw

    def _of(self, group: Group) -> list[str]:
        return [iid for iid, found in self.groups.items() if found == group]

    def _take(self, where: str, instance_id: str, group: Group) -> None:
        instance = self._instances.get(instance_id)
        if instance is None:
            near = difflib.get_close_matches(instance_id[:200], list(self._instances), n=3, cutoff=0.5)
            told = f"near: {', '.join(near)}" if near else "nothing near"
            raise PreflightRefused(
                "unknown_instance",
                f"{where}: the benchmark has no task {instance_id[:_SHOWN]!r} ({told})",
                evidence={"unknown": [instance_id[:200]], "near": near},
                remedy="correct the id in that line; the message lists near matches",
            )
        if instance.is_fixture:
            raise _unusable(f"{where}: {instance_id} is the package's own test, not a task of the benchmark", None)
        if instance_id in self.groups:
            raise _unusable(f"{where}: the task {instance_id} is listed twice", None)
        self.groups[instance_id] = group

    def _believe(self, told: Draw, path: Path) -> None:
        instances = list(self._instances.values())
        again = draw_tasks(instances, told.seed, self._of("smoke") if told.smoke_given else None)
        same = again.draw == told and set(again.smoke) == set(self._of("smoke"))
        if not (same and set(again.unseen) == set(self._of("unseen")) and not self._of("listed")):
            other = "" if told.catalogue_sha256 == catalogue_sha256(instances) else ", from another version's tasks"
            raise _unusable(
                f"{str(path)!r} says that it was drawn with seed {told.seed}{other}, and that draw gives other tasks: "
                "draw again, or take that comment out, so that the tasks count as given",
                path,
            )
        self.told = told


def _entries(role: str, path: Path, data: bytes) -> Iterator[tuple[int, str, Group | None]]:
    """Yield line number, id and the heading that it stands under."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise _unusable(f"--{role} {str(path)!r} is not UTF-8 text: {error}", path) from error
    heading: Group | None = None
    for number, line in enumerate(lines, 1):
        heading = _HEADINGS.get(line.strip(), heading)
        if instance_id := line.partition("#")[0].strip():
            yield number, instance_id, heading


def _read(role: str, path: Path) -> bytes:
    try:
        data = peek(path, _LARGEST_LIST + 1)
    except OSError as error:
        raise _unusable(f"--{role} {str(path)!r} cannot be read: {error.strerror or error}", path) from error
    if len(data) > _LARGEST_LIST:
        raise _unusable(f"--{role} {str(path)!r} is larger than {_LARGEST_LIST} bytes", path)
    return data


def _unusable(message: str, path: Path | None) -> PreflightRefused:
    return PreflightRefused("ids_file_unreadable", message, evidence={"ids_file": str(path) if path else None})
