"""What a campaign does with the outcome of a step, and how it ends itself: one table, which docs/campaigns.md shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from obo_bench.core.manifest import Outcome
from obo_bench.core.refusals import ExitCode
from obo_bench.launch.campaign.step_end import StepEnd


class Then(StrEnum):
    """What follows."""

    GOES_ON = "goes on"
    """With the steps whose conditions hold."""
    PAUSES = "pauses"
    """Until it is resumed."""
    STOPS = "stops"
    """Somebody has to look."""


@dataclass(frozen=True)
class Reaction:
    """One row of the table."""

    then: Then
    """What the campaign does."""
    outcome: Outcome
    """The campaign's own outcome, if nothing worse comes."""
    exit_code: int | None
    """Its exit status; null takes the step's."""
    retried: bool = False
    """Whether the step is repeated first, because the infrastructure did it."""
    done: bool = False
    """Whether a resume leaves the step alone."""


_STEP_FAILED: Outcome = "child_failed"

REACTIONS: Mapping[str, Reaction] = {
    "completed": Reaction(Then.GOES_ON, "completed", ExitCode.OK, done=True),
    "dry_run": Reaction(Then.GOES_ON, "completed", ExitCode.OK, done=True),
    "instances_failed": Reaction(Then.GOES_ON, "instances_failed", ExitCode.FAILED, done=True),
    "nothing_exported": Reaction(Then.GOES_ON, "nothing_exported", ExitCode.FAILED),
    "child_failed": Reaction(Then.GOES_ON, _STEP_FAILED, ExitCode.FAILED),
    "gate_no_go": Reaction(Then.GOES_ON, "gate_no_go", ExitCode.FAILED, done=True),
    "gate_inconclusive": Reaction(Then.GOES_ON, "gate_inconclusive", ExitCode.EVALUATION),
    "official_eval_error": Reaction(Then.GOES_ON, "official_eval_error", ExitCode.EVALUATION, retried=True),
    "stopped_budget": Reaction(Then.PAUSES, "stopped_budget", ExitCode.BUDGET),
    "stopped_systemic": Reaction(Then.STOPS, "stopped_systemic", ExitCode.STOPPED, retried=True),
    "stopped_provenance": Reaction(Then.STOPS, "stopped_provenance", ExitCode.STOPPED),
    "refused": Reaction(Then.STOPS, _STEP_FAILED, None),
    "usage_error": Reaction(Then.STOPS, _STEP_FAILED, None),
    "crashed": Reaction(Then.STOPS, _STEP_FAILED, ExitCode.FAILED),
    "interrupted": Reaction(Then.STOPS, _STEP_FAILED, None, retried=True),
    "died": Reaction(Then.STOPS, _STEP_FAILED, None, retried=True),
}
"""By the outcome of a step, in the order of what counts more when several steps went wrong."""

FATAL = REACTIONS["stopped_provenance"]
"""What follows a reason that holds for every remaining step, whatever the outcome says."""
PAUSE = REACTIONS["stopped_budget"]
"""What follows when the campaign's own ceiling is reached."""
_UNKNOWN = Reaction(Then.STOPS, _STEP_FAILED, None)
"""An outcome of a later version."""


def reaction_to(end: StepEnd) -> Reaction:
    """Return what follows the ending of a step."""
    return FATAL if end.is_fatal else REACTIONS.get(end.outcome, _UNKNOWN)


def exit_code_of(reaction: Reaction, end: StepEnd) -> int:
    """Return the campaign's exit status after a step that stopped it; it is never 0."""
    code = end.exit_code if reaction.exit_code is None else int(reaction.exit_code)
    return code if code and 0 < code <= 255 and code != ExitCode.CRASHED else int(ExitCode.FAILED)


def conclusion(outcomes: Iterable[str]) -> tuple[Outcome, int]:
    """Return how a campaign ends that came to its end: as the worst of its steps, 6 before 1 before 0."""
    order = list(REACTIONS)
    reached = [REACTIONS[outcome] for outcome in sorted(set(outcomes), key=order.index)]
    worst = max(reached, key=lambda reaction: reaction.exit_code or 0, default=REACTIONS["completed"])
    return worst.outcome, int(worst.exit_code or 0)
