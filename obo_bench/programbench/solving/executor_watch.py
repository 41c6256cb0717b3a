"""Watches that a task's commands run where they must: in our container, as it was made, from first to last."""

import time

from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange
from obo_bench.engine.cleanroom import Cleanroom, Condition
from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.command_calls import CommandCalls
from obo_bench.gateway.settlement import ExecutorTrouble, SettledBy

PAUSED_SEC = 60.0
"""A container that stays frozen for so long counts as lost."""
NOT_REACHED_CALLS = 3
"""So many commands, none of which came to the container, mean that the server runs them elsewhere."""
NOT_REACHED_SEC = 60.0
"""How long the first of them may take to come."""
ASK_SEC = 15.0
"""How often the server is asked for its commands until the first one has come."""


class ExecutorWatch:
    """The watch over one task's container."""

    def __init__(
        self,
        cleanroom: Cleanroom,
        client: GatewayClient,
        reporter: Reporter,
        *,
        begun: bool,
        enough_calls: int = NOT_REACHED_CALLS,
        grace_sec: float = NOT_REACHED_SEC,
        paused_sec: float = PAUSED_SEC,
    ) -> None:
        """`begun` says that the task may have run commands before the container is watched."""
        self._cleanroom = cleanroom
        self._client = client
        self._reporter = reporter
        self._begun = begun
        self._enough_calls = enough_calls
        self._grace_sec = grace_sec
        self._paused_sec = paused_sec
        self._calls: CommandCalls | None = None
        self._paused_since: float | None = None
        self._enough_since: float | None = None
        self._asked = 0.0
        self._deaf = False

    def look(self, task_id: str) -> ExecutorTrouble | None:
        """Return what is certainly wrong while the task is at work."""
        condition = self._cleanroom.examine()
        if condition is None:
            return None
        self._tell(condition)
        if condition.trouble:
            return ExecutorTrouble(SettledBy.EXECUTOR_LOST, condition.trouble, condition.facts)
        return self._paused(condition) or self._not_reached_yet(task_id)

    def at_end(self, task_id: str) -> ExecutorTrouble | None:
        """Return what was certainly wrong with it, now that the task has settled."""
        condition = self._cleanroom.examine()
        if condition is not None and condition.reason is not None:
            return ExecutorTrouble(SettledBy.EXECUTOR_LOST, condition.reason, condition.facts)
        return self._not_reached(task_id, 1)

    def _tell(self, condition: Condition) -> None:
        found = condition.trouble or ("paused" if condition.paused else "up")
        self._reporter.update(InstanceChange(self._cleanroom.spec.labels[INSTANCE_LABEL], container=found))

    def _paused(self, condition: Condition) -> ExecutorTrouble | None:
        if not condition.paused:
            self._paused_since = None
            return None
        now = time.monotonic()
        if self._paused_since is None:
            self._paused_since = now
            self._reporter.event("the container is paused", self._cleanroom.spec.name)
        if now - self._paused_since < self._paused_sec:
            return None
        return ExecutorTrouble(
            SettledBy.EXECUTOR_LOST, f"it has been paused for {self._paused_sec:.0f} s", condition.facts
        )

    def _not_reached_yet(self, task_id: str) -> ExecutorTrouble | None:
        now = time.monotonic()
        if self._reached() or now - self._asked < min(ASK_SEC, self._grace_sec):
            return None
        self._asked = now
        if (self._count(task_id) or 0) < self._enough_calls:
            return None
        self._enough_since = self._enough_since or now
        return self._not_reached(task_id, self._enough_calls) if now - self._enough_since >= self._grace_sec else None

    def _not_reached(self, task_id: str, at_least: int) -> ExecutorTrouble | None:
        if self._reached() or self._deaf:
            return None
        count = self._count(task_id) or 0
        if count < at_least:
            return None
        if not self._cleanroom.tells_of_commands():
            # Whether any came is unknown, and no false alarm may cost a paid task.
            self._deaf = True
            return None
        if self._reached():
            return None
        return ExecutorTrouble(
            SettledBy.EXECUTOR_NOT_REACHED,
            f"the server reports {count} commands, and none of them reached container {self._cleanroom.spec.name}: "
            "it talks to another Docker daemon",
            {"commands_reported": count, "commands_seen": 0},
        )

    def _reached(self) -> bool:
        return self._cleanroom.trace.commands > 0

    def _count(self, task_id: str) -> int | None:
        self._calls = self._calls or CommandCalls(self._client, task_id, begun=self._begun)
        return self._calls.count()
