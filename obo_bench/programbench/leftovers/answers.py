"""What `programbench cancel` and `programbench gc` answer with: the `result` of `--json` (wire formats)."""

from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel


class CancelledRow(WireModel):
    """What became of one instance."""

    instance_id: str
    """The instance."""
    task_id: str
    """Its task."""
    result: str
    """cancelled, lost, unknown, completed, over, settled (its end was on record already) or not_cancelled."""
    detail: str
    """One human line."""
    leftovers: list[str]
    """What could not be removed from the engine, in words."""


class CancelAnswer(WireModel):
    """What `programbench cancel` answers with."""

    schema_: Literal["obo_bench.cancel.v1"] = Field("obo_bench.cancel.v1", alias="schema")
    """Format name."""
    run_root: str
    """The run."""
    instances: list[CancelledRow]
    """Every instance that had a task."""


class FoundObject(WireModel):
    """An object of ours on the engine."""

    action: Literal["removed", "failed", "orphan", "kept"] | LaterWord
    """What was done; an `orphan` could go, but was not removed."""
    kind: str
    """container, volume or image."""
    name: str
    """Its name."""
    running: bool
    """Whether it runs."""
    run_id: str
    """The run in its labels."""
    run_root: str | None
    """That run's directory; null where it was not found."""
    instance_id: str | None
    """The instance; null where it belongs to none."""
    task_id: str | None
    """The task; null where there is none."""
    reason: str
    """Why it may go, or not, or why the engine did not remove it."""


class GcAnswer(WireModel):
    """What `programbench gc` answers with."""

    schema_: Literal["obo_bench.gc.v1"] = Field("obo_bench.gc.v1", alias="schema")
    """Format name."""
    found: list[FoundObject]
    """Everything of ours that is there."""
