"""What the log of a run tells of its instances: how long each was at each phase."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_PHASE = re.compile(r"^(\S+)Z (\S+): phase ([a-z ]+?)(?: \(task .*)?$")
_ENDED = re.compile(r"^(\S+)Z (\S+): (?:completed|failed|blocked|not_attempted|skipped) \(\w+\)$")
_STAMP = re.compile(r"^(\S+)Z ")
CLEARING = "clearing away"
"""From the row of an instance until its worker has removed what the instance had on the engine."""


@dataclass(frozen=True)
class Moment:
    """One line of the log that begins a phase."""

    at: float
    """When, in seconds since the epoch."""
    instance_id: str
    """Whose phase it is."""
    phase: str
    """Its name, as the log has it, or CLEARING."""


def moments(run_root: Path) -> list[Moment]:
    """Return all beginnings of phases in the run's one log, in their order, and last the moment of its last line."""
    (log,) = (run_root / "logs").glob("*.log")
    lines = log.read_text("utf-8").splitlines()
    return [*_beginnings(lines), Moment(_seconds(_STAMP.findall(lines[-1])[0]), "", "end")]


def by_phase(found: Sequence[Moment]) -> dict[str, dict[str, float]]:
    """Return the seconds of each phase, by instance, of a run with one worker: a phase lasts until the next begins."""
    lasted: dict[str, dict[str, float]] = {}
    for moment, after in itertools.pairwise(found):
        phases = lasted.setdefault(moment.instance_id, {})
        phases[moment.phase] = phases.get(moment.phase, 0.0) + after.at - moment.at
    return lasted


def _beginnings(lines: Sequence[str]) -> Iterator[Moment]:
    for line in lines:
        if (begun := _PHASE.match(line)) is not None:
            yield Moment(_seconds(begun[1]), begun[2], begun[3])
        elif (ended := _ENDED.match(line)) is not None:
            yield Moment(_seconds(ended[1]), ended[2], CLEARING)


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(f"{stamp}+00:00").timestamp()
