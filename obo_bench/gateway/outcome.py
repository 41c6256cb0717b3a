"""What a settled task means for the benchmark: a solve, the agent's failure, or the infrastructure's.

Decided from the explicit `status`, `reason_code` and the execution axis; never from error texts. The set of the
server's codes is open: an unknown one is kept verbatim.
"""

from dataclasses import dataclass

from obo_bench.gateway.wire import TaskRecord

_INFRASTRUCTURE = frozenset(
    {
        "worker_crash_signal",
        "worker_crash_retry_exhausted",
        "worker_crash_retry_admission_blocked",
        "worker_terminal_failure",
        "orphaned_running_after_worker_restart",
        "budget_exhausted",
        "root_budget_fence",
        "workers_unavailable",
        "missing_task_result",
        "reaper_wedged_worker_alive",
        "llm_api_error",
        "llm_empty_response",
    }
)
_INFRASTRUCTURE_PREFIXES = ("provider_", "llm_")


@dataclass(frozen=True)
class TaskOutcome:
    """The verdict on a settled task."""

    completed: bool
    """The server says `completed`: the workspace is packaged."""
    infrastructure: bool
    """Not the agent's doing: solved again on resume."""
    degraded: bool
    """Completed, but with a provider failure or a spent budget."""
    reason: str
    """The server's own code, or `task_not_completed`."""


def is_infrastructure(reason: str) -> bool:
    """Say whether the server's code names a failure of the infrastructure."""
    return reason in _INFRASTRUCTURE or reason.startswith(_INFRASTRUCTURE_PREFIXES)


def judge(record: TaskRecord) -> TaskOutcome:
    """Return the verdict on a record with a final status."""
    execution = record.execution
    axis_reason = str(execution.get("reason_code") or "")
    reason = record.reason_code or axis_reason
    troubled = is_infrastructure(reason) or is_infrastructure(axis_reason) or execution.get("status") == "infra_failed"
    completed = record.status == "completed"
    # Nobody of ours cancelled it: the server was shut down, or somebody stopped the task by hand.
    infrastructure = not completed and (troubled or record.status == "cancelled")
    return TaskOutcome(
        completed=completed,
        infrastructure=infrastructure,
        degraded=completed and troubled,
        reason=reason or ("final_message" if completed else "task_not_completed"),
    )
