"""What the server says, as far as we look at it; unknown fields are kept, odd types never crash a run.

Source: the recorded behaviour of Ouroboros 6.75 and 6.102.
"""

from datetime import datetime
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from obo_bench.gateway.foreign_json import REPLACEMENT, excerpt

FINAL_STATUSES = frozenset({"completed", "failed", "cancelled", "rejected_duplicate"})
"""The only statuses that never change again."""
LONGEST_CODE = 200
"""Characters of a reason code that are kept; real ones have up to fifty."""
LONGEST_VERSION = 128
"""Characters of a version that is believed; real ones have some ten."""


class _Wire(BaseModel):
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Health(_Wire):
    """GET /api/health: identity, not readiness."""

    runtime_version: str | None = None
    """The version the server says it runs, as sent; the older `version` key proves nothing."""

    @property
    def claimed_version(self) -> str | None:
        """The version that can be compared; None for a claim that is blank, too long, not printable or not text."""
        claim = (self.runtime_version or "").strip()
        whole = claim.isprintable() and REPLACEMENT not in claim
        return claim if 0 < len(claim) <= LONGEST_VERSION and whole else None


class State(_Wire):
    """GET /api/state: readiness and load."""

    supervisor_ready: bool = False
    """Start-up is over (also when it failed)."""
    supervisor_error: str | None = None
    """Why start-up failed."""
    workers_alive: int = 0
    """Workers that can take a task."""
    workers_total: int = 0
    """Workers configured."""
    pending_count: int = 0
    """Tasks waiting for a worker."""
    running_count: int = 0
    """Tasks at work."""
    uptime: float | None = None
    """Seconds since the server started."""
    sha: str | None = None
    """Commit the server says it runs, often empty."""
    spent_usd: float | None = None
    """Spent by this data directory so far."""
    budget_limit: float | None = None
    """TOTAL_BUDGET in USD."""

    @property
    def ready(self) -> bool:
        """Whether a task can be submitted."""
        return self.supervisor_ready and self.supervisor_error is None and self.workers_alive > 0

    @property
    def idle_workers(self) -> int:
        """Workers without a task, waiting tasks counted as if they had one."""
        return self.workers_alive - self.running_count - self.pending_count


class Created(_Wire):
    """POST /api/tasks, accepted."""

    task_id: str = ""
    """The task's id: ours."""
    status: str = ""
    """`scheduled`."""


class Queue(_Wire):
    """The live queue of GET /api/tasks."""

    pending: list[dict[str, Any]] = Field(default_factory=list)
    """Waiting tasks."""
    running: list[dict[str, Any]] = Field(default_factory=list)
    """Running tasks."""

    def holds(self, task_id: str) -> bool:
        """Whether the task waits or runs."""
        return any(
            str(entry.get("id", entry.get("task_id", ""))) == task_id for entry in [*self.pending, *self.running]
        )


class TaskRecord(_Wire):
    """GET /api/tasks/{id}."""

    task_id: str = ""
    """May differ from the id asked for when the server retried the task itself."""
    status: str = ""
    """The only field that tells whether the task is over."""
    artifact_status: str | None = None
    """`finalizing` while the server still collects the patch."""
    ts: str | None = None
    """When its state changed last, ISO 8601 by the server's clock."""
    reason_code: str | None = None
    """Missing until the agent is done."""
    outcome_axes: dict[str, Any] | None = None
    """Meaningful only at the end."""
    resource_limit: dict[str, Any] | None = None
    """Why a scheduled task will not start by itself."""
    result: str | None = None
    """Always some text."""
    cost_usd: float | None = None
    """Snapshot; 0.0 with unknown prices means unknown."""
    unknown_unmetered: int | None = None
    """Calls whose price is not known."""
    cost_final: bool | None = None
    """Never true in 6.75."""
    total_rounds: int | None = None
    """Model calls."""
    prompt_tokens: int | None = None
    """Tokens read."""
    completion_tokens: int | None = None
    """Tokens written."""
    cost_breakdown: dict[str, Any] | None = None
    """The true total, from 6.102 on."""

    @field_validator("*", mode="wrap")
    @classmethod
    def _odd_is_absent(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Take a field of the wrong type for one that is not there: a finished solve must not be lost to it."""
        try:
            return handler(_code(value) if info.field_name == "reason_code" else value)
        except ValidationError:
            return cls.model_fields[str(info.field_name)].default

    @property
    def final(self) -> bool:
        """Whether the task is over."""
        return self.status in FINAL_STATUSES

    @property
    def changed_unix(self) -> float | None:
        """When its state changed last, in wall-clock seconds of the server; None for what is no time with a zone."""
        try:
            changed = datetime.fromisoformat(self.ts or "")
            return changed.timestamp() if changed.tzinfo is not None else None
        except (ValueError, OverflowError, OSError):
            return None

    def excerpt(self) -> dict[str, Any]:
        """Return the record without what is long; a six-hour task's own has some MB."""
        cut: dict[str, Any] = excerpt(self.model_dump())
        return cut

    @property
    def execution(self) -> dict[str, Any]:
        """The execution axis, or nothing."""
        axis = (self.outcome_axes or {}).get("execution")
        if not isinstance(axis, dict):
            return {}
        return {**axis, "reason_code": _code(axis.get("reason_code"))}


def _code(value: object) -> str | None:
    return value[:LONGEST_CODE] if isinstance(value, str) else None
