"""What is known of a settled task's commands: shown to people, never decided by."""

from typing import Any

from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.solving.room import Room

_SHOWN = 5
_LONGEST = 300


def tool_errors(record: TaskRecord) -> list[dict[str, Any]]:
    """Return the first tool errors that the server called cosmetic, cut to what a row can bear.

    A dead container shows only here, among the agent's own failed commands, and only in the words of Docker.
    """
    listed = record.execution.get("cosmetic_tool_errors")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return [
        {
            "tool": str(entry.get("tool"))[:_LONGEST],
            "status": str(entry.get("status"))[:_LONGEST],
            "exit_code": entry.get("exit_code") if isinstance(entry.get("exit_code"), int) else None,
            "result": str(entry.get("result"))[:_LONGEST],
        }
        for entry in entries[:_SHOWN]
    ]


def commands_seen(room: Room | None) -> dict[str, Any] | None:
    """Return what the engine told of the container while it was watched; None where there was none to watch."""
    if room is None:
        return None
    trace = room.cleanroom.trace
    return {"started": trace.commands, "out_of_memory": trace.out_of_memory, "all_events_seen": trace.complete}
