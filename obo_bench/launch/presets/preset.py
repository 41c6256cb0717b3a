"""The interface of a preset: what is known about one kind of launcher beside its command line.

A preset only reads. What it reads was written by others: bounded, regular files only, of any shape; what it cannot
make sense of becomes a problem that is told, never a guess.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.ledger_row import Status
from obo_bench.launch.presets.foreign import extent_of
from obo_bench.launch.presets.launch import Extent, Launch

VOLUME_REFUSED = "volume_provenance_refused"
"""The reason of an exit status that says no more than that the provenance of the volume was refused."""


@dataclass(frozen=True)
class Result:
    """What became of one instance, as the launcher's files have it; the fields are those of a ledger row."""

    instance_id: str
    """The instance."""
    status: Status
    """completed, failed, or blocked where the task's own environment can never run the agent."""
    reason_code: str
    """Why: one of `core.result_reasons.RESULT_REASONS`, or the launcher's own word verbatim."""
    prediction_written: bool = False
    """Whether there is something to be graded."""
    official_eval_status: str = "not_run"
    """pass, fail or ungraded only where the file is the official harness's own verdict."""
    output_paths: dict[str, str] = field(default_factory=dict)
    """Where the result was found, absolute."""
    error: str = ""
    """One line, empty when nothing went wrong."""
    details: dict[str, Any] = field(default_factory=dict)
    """What else the file says, bounded."""
    attempt: int = 1
    """Number of the attempt, from 1."""
    cost: dict[str, Any] = field(default_factory=dict)
    """What the launcher says it cost."""


@dataclass(frozen=True)
class Harvest:
    """All that was found after a launcher had ended; iterating gives the results."""

    results: tuple[Result, ...] = ()
    """One for each instance, in the order in which they came up."""
    problems: tuple[str, ...] = ()
    """What was missing, old, damaged or of an unknown shape, in words."""

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)


def announces_nothing(_line: str) -> str | None:
    """Find no reason in a line: the launcher's output is for people only."""
    return None


@dataclass(frozen=True)
class Preset:
    """One kind of launcher."""

    name: str
    """What --preset calls it."""
    benchmark: str
    """Default of --benchmark."""
    dataset: str
    """Default of --dataset."""
    summary: str
    """What it is for, one line."""
    requests: str
    """Where the requested tasks come from, one line for people."""
    leaves: str
    """What the results are read from, one line for people."""
    example: str
    """A command of such a launcher."""
    requested: Callable[[Launch], list[str] | None]
    """Return the ids that the command itself names, None where it names none; raises PreflightRefused
    `launcher_input_unreadable`."""
    outputs: Callable[[Launch], dict[str, Path]]
    """Return where the launcher will leave its results, by what they are, from its arguments alone."""
    results: Callable[[Launch], Harvest]
    """Return what the launcher left behind; never raises for what it finds there."""
    announced: Callable[[str], str | None] = announces_nothing
    """Return the reason that a whole line of its output announces, whether campaign-fatal or not."""
    provenance_statuses: frozenset[int] = frozenset()
    """Exit statuses with which it refuses the provenance that all tasks share."""
    timeout_sec: float | None = None
    """Default of --timeout-sec: seconds for the whole launcher; None where its own limit for each task is enough."""
    task_timeout_sec: float | None = None
    """Seconds that the launcher itself gives to one task unless told otherwise; for the record, enforced by it."""
    needs_git_directory: bool = False
    """Whether the checkout is mounted elsewhere, so that its `.git` must be a directory."""
    needs_stamp: bool = False
    """Whether its git directory must hold the stamp of the commit that it was seeded from."""

    def reason_of_status(self, status: int) -> str | None:
        """Return why going on is pointless for every task when an exit status says so: it counts as campaign-fatal."""
        return VOLUME_REFUSED if status in self.provenance_statuses else None

    def extents(self, launch: Launch) -> Mapping[Path, Extent]:
        """Return what the result files hold before the launcher is started, for `Launch.already`."""
        found = {path: extent_of(path) for path in self.outputs(launch).values()}
        return {path: extent for path, extent in found.items() if extent is not None}
