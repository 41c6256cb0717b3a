"""What changes while a run goes on, told piece by piece: `None` in a field means that it stays as it was."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What an instance is at."""

    WAITING = "waiting"
    PULL = "image pull"
    AUDIT = "image audit"
    SEED = "seeding"
    CLEANROOM = "cleanroom"
    WORKER = "waiting for a worker"
    SUBMITTED = "submitted"
    RUNNING = "running"
    SETTLING = "settling"
    PACKAGING = "packaging"
    EVALUATION = "evaluation"


@dataclass(frozen=True)
class RunChange:
    """What is now known of the run as a whole."""

    run_id: str | None = None
    """Its name."""
    server_version: str | None = None
    """Version of the server that solves."""
    model: str | None = None
    """Model that solves."""
    ceiling_usd: float | None = None
    """What the run may cost."""
    spent_usd: float | None = None
    """What its ended attempts have cost, as far as known."""
    unknown_costs: int | None = None
    """How many ended attempts have a cost that nobody knows."""
    stage: str | None = None
    """What all instances go through now; another one begins with all of its instances waiting."""
    total: int | None = None
    """Instances of the stage."""
    workers: int | None = None
    """Instances at work at a time."""


@dataclass(frozen=True)
class InstanceChange:
    """What is now known of one instance that is at work."""

    subject: str
    """Its id."""
    phase: Phase | None = None
    """What it is at; another one clears status and progress of the one before."""
    status: str | None = None
    """What the server calls the state of its task."""
    task_id: str | None = None
    """Its task."""
    rounds: int | None = None
    """Model calls of the task so far."""
    cost_usd: float | None = None
    """What the task has cost so far."""
    container: str | None = None
    """How its container was found: `up`, `paused`, or what is wrong with it."""
    progress: str | None = None
    """How far the phase is, such as `12 of 80 MB`."""


@dataclass(frozen=True)
class InstanceEnded:
    """An instance is through with the stage."""

    subject: str
    """Its id."""
    outcome: str
    """What became of it, in one word: the status of its row, or its verdict."""
    worked: bool = True
    """Whether it had any work: how long the others take is not told by one that was skipped."""


Change = RunChange | InstanceChange | InstanceEnded


def change_text(change: Change) -> str:
    """Return a change in words for a line, empty where there is nothing to say of it."""
    if not isinstance(change, InstanceChange):
        return ""
    if change.phase is not None:
        return " ".join(filter(None, [f"phase {change.phase}", change.task_id and f"(task {change.task_id})"]))
    words = {
        "status": change.status,
        "rounds": change.rounds,
        "cost": None if change.cost_usd is None else f"{change.cost_usd:.4f} USD",
        "container": change.container,
        "progress": change.progress,
    }
    return ", ".join(f"{name} {value}" for name, value in words.items() if value is not None)
