"""How an invocation ends that ran a launcher: outcome and exit status, from facts before claims."""

import signal
from collections.abc import Mapping

from obo_bench.core.manifest import Outcome
from obo_bench.core.refusals import ExitCode
from obo_bench.core.wire_format import LaterWord
from obo_bench.launch.child.supervised import ChildEnd
from obo_bench.launch.contract.child_outcome import ChildOutcome, ClaimedOutcome
from obo_bench.launch.executing.stop import Stop

_CLAIMED: Mapping[ClaimedOutcome, Outcome] = {
    "completed": "completed",
    "instances_failed": "instances_failed",
    # What a manifest calls refused, this program refused.
    "refused": "child_failed",
    "stopped_systemic": "stopped_systemic",
    "stopped_budget": "stopped_budget",
    "nothing_exported": "nothing_exported",
    "official_eval_error": "official_eval_error",
    "child_failed": "child_failed",
}


def verdict(
    end: ChildEnd, stop: Stop | None, claim: ChildOutcome | None, unusable: str, counts: Mapping[str, int]
) -> tuple[Outcome, int]:
    """Return outcome and exit status.

    A claim can make the ending worse, never better. The status is the launcher's own unless it was stopped here.
    """
    if stop is not None and stop.why == "fatal_reason":
        return "stopped_provenance", int(ExitCode.STOPPED)
    if stop is not None and stop.why == "ceiling":
        return "stopped_budget", int(ExitCode.BUDGET)
    if stop is not None:
        # One that ends well when it is told to end has not done what it was started for.
        return "child_failed", end.exit_status or 128 + signal.SIGTERM
    claimed = _claimed(claim, unusable)
    if end.exit_status:
        return "child_failed" if claimed in (None, "completed") else claimed, end.exit_status
    if claimed in (None, "completed") and (counts.get("failed") or counts.get("not_attempted")):
        return "instances_failed", int(ExitCode.OK)
    return claimed or "completed", int(ExitCode.OK)


def _claimed(claim: ChildOutcome | None, unusable: str) -> Outcome | None:
    """Return the outcome that is claimed; what cannot be read, or is no word of ours, is a failure."""
    if unusable:
        return "child_failed"
    if claim is None:
        return None
    return "child_failed" if isinstance(claim.outcome, LaterWord) else _CLAIMED[claim.outcome]
