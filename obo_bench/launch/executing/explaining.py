"""Why an invocation that ran a launcher ended as it did: the one line for its operator and for the manifest.

What the launcher says is foreign: one line of it, bounded, and never more than a quotation.
"""

import signal
from collections.abc import Iterator, Mapping

from obo_bench.core.manifest import Outcome
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.reporter import printable
from obo_bench.launch.child.supervised import ChildEnd
from obo_bench.launch.contract.child_outcome import ChildOutcome
from obo_bench.launch.executing.stop import Stop

_LONGEST_QUOTATION = 500
_LONGEST_WORD = 200


def why_it_ended(
    outcome: Outcome,
    end: ChildEnd,
    stop: Stop | None,
    claim: ChildOutcome | None,
    problem: str,
    counts: Mapping[str, int] | None,
) -> str:
    """Return it; `problem` is what is wrong with the outcome file, empty where nothing is."""
    causes = [] if outcome == "completed" else list(_causes(stop, claim, problem))
    counted = ", ".join(f"{number} {name}" for name, number in (counts or {}).items() if number)
    return "; ".join([*causes, _ended(end)]) + (f" ({counted})" if counted else "")


def remedy(outcome: Outcome, stop: Stop | None, claim: ChildOutcome | None) -> str:
    """Return what can be done where a reason of ours is why; empty without one."""
    if stop is not None:
        return stop.refusal.remedy if stop.refusal else ""
    known = REASONS.get(claim.refusal_reason or "") if claim is not None and outcome != "completed" else None
    return known.remedy if known else ""


def _causes(stop: Stop | None, claim: ChildOutcome | None, problem: str) -> Iterator[str]:
    if stop is not None:
        yield stop.detail if stop.is_fatal else f"stopped: {stop.detail}"
    elif problem:
        yield problem
    elif claim is not None:
        reason = f" ({_quoted(claim.refusal_reason, _LONGEST_WORD)})" if claim.refusal_reason else ""
        yield f"the launcher claims {claim.outcome}{reason}"
    if claim is not None and claim.message:
        yield f"the launcher says: {_quoted(claim.message, _LONGEST_QUOTATION)}"


def _ended(end: ChildEnd) -> str:
    status = end.status
    if status is None:
        return "the launcher's own end was not seen: the process that guards it was killed, or could not end it"
    if status < 0:
        return f"the launcher was ended by {_signal_name(-status)}"
    # So a shell hands on that a signal ended what it had started.
    told = f" (128 + {_signal_name(status - 128)})" if 128 < status < 128 + signal.NSIG else ""
    return f"the launcher ended with {status}{told}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _quoted(text: str, longest: int) -> str:
    words = " ".join(printable(text).split())
    return words if len(words) <= longest else f"{words[:longest]} ..."
