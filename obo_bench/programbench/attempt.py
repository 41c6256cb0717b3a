"""One attempt at an instance, and the rows that tell how it ended."""

from dataclasses import dataclass, field
from typing import Any

from obo_bench.core.ledger import Row, Status
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.rows import append_row


@dataclass
class Attempt:
    """One attempt under way."""

    context: RunContext
    """The run."""
    instance: Instance
    """What is solved."""
    number: int
    """Counted from 1."""
    durations: dict[str, float] = field(default_factory=dict)
    """Seconds by step."""
    task_may_live: bool = False
    """From the intent until the task has settled: only then it loses its container."""
    seen_healthy: bool = False
    """An earlier invocation saw the cleanroom in order when the task had settled, and removed it."""

    @property
    def id(self) -> str:
        """The instance's id."""
        return self.instance.instance_id

    def row(self, status: Status, reason: str, **fields: Any) -> Row:
        """Write a row with what the attempt knows; `fields` as in `append_row`."""
        return append_row(
            self.context, self.id, status, reason, attempt=self.number, durations=self.durations, **fields
        )

    def failed(self, reason: str, error: str, *, infrastructure: bool) -> Row:
        """Write that it failed; `infrastructure` means that the agent is not to blame."""
        return self.row("failed", str(reason), error=error, details={"infrastructure": infrastructure})

    def not_attempted(self) -> Row:
        """Write that the end of the run came first."""
        return self.row("not_attempted", self.context.halted_by or "interrupted")
