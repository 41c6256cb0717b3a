"""How the watch over a task ends, and what may end it from the side of its container."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from obo_bench.gateway.wire import TaskRecord


class SettledBy(StrEnum):
    """Why the watch ended."""

    FINAL = "final"
    LOST = "lost"
    BUDGET_PAUSED = "budget_exhausted"
    TIMEOUT = "client_poll_timeout_reattachable"
    UNREACHABLE = "client_poll_error_reattachable"
    EXECUTOR_LOST = "executor_lost"
    EXECUTOR_NOT_REACHED = "executor_not_reached"
    DETACHED = "interrupted"


@dataclass(frozen=True)
class Settlement:
    """How a task's watch ended."""

    by: SettledBy
    """Why."""
    record: TaskRecord | None = None
    """The last record seen."""
    detail: str = ""
    """One human line."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the container's inspection said, where that ended the watch."""


@dataclass(frozen=True)
class ExecutorTrouble:
    """Why the task's commands do not count any more."""

    by: SettledBy
    """EXECUTOR_LOST or EXECUTOR_NOT_REACHED."""
    detail: str
    """One human line."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Exit detail, for the record."""


class Executor(Protocol):
    """Knows the container that a task's commands are meant for."""

    def look(self, task_id: str) -> ExecutorTrouble | None:
        """Return what is certainly wrong while the task is at work."""

    def at_end(self, task_id: str) -> ExecutorTrouble | None:
        """Return what was certainly wrong with it, now that the task has settled."""
