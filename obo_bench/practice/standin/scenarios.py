"""How tasks end: one entry for each ending, so that a new fault is a new entry and no new code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Ending:
    """What the final record of a task says."""

    status: str = "completed"
    """The final status: completed or failed."""
    execution: str = "ok"
    """`outcome_axes.execution.status`."""
    reason_code: str = "final_message"
    """Shown at the top level and in the execution axis."""
    result: str = ""
    """The text shown instead of the solver's own report; empty shows the report."""
    by_supervisor: bool = False
    """The worker did not live to report: no finalizing, no patch, no details."""
    evidence: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Further top-level fields of the record."""


REPORTED = Ending()
"""The agent spoke its last word itself."""

OUT_OF_TIME = Ending(execution="best_effort", reason_code="deadline_local")
"""The deadline came first; what was there then is the result."""

ORPHANED = Ending(
    status="failed",
    execution="infra_failed",
    reason_code="orphaned_running_after_worker_restart",
    result=(
        "Task is running.\n\n\N{WARNING SIGN}\N{VARIATION SELECTOR-16} TASK_ORPHAN_RECONCILED: queue is empty and "
        "worker restarted after this task; marking the stale running task as infra_failed."
    ),
    by_supervisor=True,
    evidence=MappingProxyType({"status_reconciled_from": "running"}),
)
"""The server was killed under the task."""


@dataclass(frozen=True)
class Scenario:
    """One way for a task to go."""

    meaning: str
    """One line for people."""
    variant: str = "solved"
    """The solution that the solver writes; empty lets it do no work at all."""
    ending: Ending = REPORTED
    """How the record ends."""
    paused: bool = False
    """The budget is spent before the first dispatch: the task waits for a resume."""
    usd_per_round: float | None = 0.0
    """The pretended price of one model call; None makes it unknown."""
    padding_bytes: int = 0
    """Weight added to the final record, which holds it twice."""
    command: tuple[str, ...] = ()
    """A command to run in the container before the work begins."""
    docker_host: str = ""
    """The daemon that commands are sent to; empty for the one of the server's environment."""


_NO_PROVIDER = (
    "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} The model provider returned no usable response after retries and "
    "same-model reroute. Last provider error: AuthenticationError('Error code: 401 - practice provider is down') The "
    "provider rejected authentication/authorization; retrying the same request will not help until the configured key "
    "or provider access is fixed. Any files written so far are preserved in the workspace."
)
_CRASHED = (
    "\N{CROSS MARK} worker process crashed (signal 9). This is an infrastructure/platform crash and is not retried "
    "automatically. Use /restart and try again; if it recurs it is a platform-level issue."
)
_CRASH_EVIDENCE = MappingProxyType(
    {
        "child_status": "failed",
        "crash_exitcode": -9,
        "crash_signal": 9,
        "status_reconciled_from": "running",
    }
)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "solved": Scenario("the whole solution is written and built"),
        "partial": Scenario("a solution that does part of what the reference does", variant="partial"),
        "broken-build": Scenario("a solution whose compile.sh fails", variant="broken-build"),
        "infra": Scenario(
            "every model call is refused; no work is done",
            variant="",
            ending=Ending("failed", "failed", "provider_unavailable", _NO_PROVIDER),
        ),
        "worker-crash": Scenario(
            "the worker is killed by a signal when the work is done",
            ending=Ending("failed", "infra_failed", "worker_crash_signal", _CRASHED, True, _CRASH_EVIDENCE),
        ),
        "budget-paused": Scenario("the server's budget is spent: the task waits until it is resumed", paused=True),
        "budget-exhausted": Scenario(
            "the server's budget runs out in the middle of the work",
            variant="partial",
            ending=Ending(execution="best_effort", reason_code="budget_exhausted"),
            usd_per_round=0.0123,
        ),
        "provider-degraded": Scenario(
            "model calls fail, but the last one works: completed all the same",
            variant="partial",
            ending=Ending(execution="best_effort", reason_code="provider_unavailable"),
            usd_per_round=None,
        ),
        "unknown-reason": Scenario(
            "a reason code that no client knows",
            ending=Ending("failed", "degraded", "practice_reason_of_tomorrow"),
        ),
        "huge-record": Scenario("the final record weighs some megabytes", padding_bytes=3_000_000),
        "priced": Scenario("every model call has a known price", usd_per_round=0.0123),
        "unpriced": Scenario("the price of model calls is unknown", usd_per_round=None),
        "instant": Scenario("over at once as completed, without any work or command", variant=""),
        "other-daemon": Scenario(
            "the server talks to another Docker daemon: no command reaches the container",
            docker_host="unix:///nonexistent/obo-bench-stand-in.sock",
        ),
        "agent-failure": Scenario(
            "the agent gives up: a failure of its own, not of the infrastructure",
            variant="partial",
            ending=Ending("failed", "failed", "empty_final_text"),
        ),
        "long-command": Scenario("the work begins with a command of five minutes", command=("sleep", "300")),
    }
)
"""Every scenario by its name."""
