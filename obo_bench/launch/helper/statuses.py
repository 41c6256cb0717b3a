"""How the runs of this process ended, for the launcher's main: the process must end with the status on record."""

from dataclasses import dataclass
from pathlib import Path

from obo_bench.launch.helper.tally import Tally


@dataclass(frozen=True)
class Ended:
    """A run of this process that is over."""

    status: int
    """The status with which it was recorded."""
    outcome: str
    """The outcome on record; under `exec`, what it was told."""
    message: str
    """What the launcher said of it; empty where it said nothing."""
    counts: Tally | None
    """What its rows show; None where it was never admitted, or they cannot be read."""
    record: Path
    """The directory of the record."""

    def line(self) -> str:
        """Return how it ended, for the operator."""
        parts = (self.message, _counted(self.counts), f"record in {self.record}")
        return f"{self.outcome}: {'; '.join(filter(None, parts))}"


_ended: list[Ended] = []


def note(ended: Ended) -> None:
    """Remember how a run was recorded."""
    _ended.append(ended)


def recorded() -> int | None:
    """Return the status on record, of several the first that is not 0; None where no run has ended."""
    return next((ended.status for ended in _ended if ended.status), 0) if _ended else None


def failures() -> list[str]:
    """Return a line on each run whose status is not 0."""
    return [ended.line() for ended in _ended if ended.status]


def reset() -> None:
    """Forget earlier runs of the process."""
    _ended.clear()


def _counted(counts: Tally | None) -> str:
    if counts is None:
        return ""
    more = [f"{counts.failed} failed"] if counts.failed else []
    more += [f"{counts.not_attempted} not attempted"] if counts.not_attempted else []
    return ", ".join([f"{counts.completed} completed", *more])
