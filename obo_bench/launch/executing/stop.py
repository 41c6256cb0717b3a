"""Why a launcher is stopped before its time."""

from dataclasses import dataclass
from typing import Literal

from obo_bench.core.ending import refusal_record
from obo_bench.core.manifest import RefusalRecord
from obo_bench.core.refusal_reasons import REASONS, Stage
from obo_bench.core.refusals import ExitCode, Refusal

Why = Literal["fatal_reason", "ceiling", "timeout"]


@dataclass(frozen=True)
class Stop:
    """One reason to stop."""

    why: Why
    """What kind of reason."""
    detail: str
    """One line for people."""
    refusal: RefusalRecord | None = None
    """What holds for every remaining task, where that is why."""

    @property
    def is_fatal(self) -> bool:
        """Whether it also counts when the launcher has ended by itself."""
        return self.why == "fatal_reason"


def fatal(reason: str, who: str) -> Stop:
    """Return the stop for a reason that the launcher itself gave."""
    known = REASONS.get(reason)
    message = f"the launcher reports {reason}: {who} says so"
    record = RefusalRecord(
        stage=(known.stage if known else Stage.LINEAGE).value,
        reason=reason,
        exit_code=int(ExitCode.STOPPED),
        message=message,
        remedy=known.remedy if known else "look into the launcher's log for what it refused",
        evidence={"reported_by": who},
    )
    return Stop("fatal_reason", message, record)


def server_refused(refusal: Refusal) -> Stop:
    """Return the stop for a server that is not the admitted one any more."""
    record = refusal_record(refusal).model_copy(update={"exit_code": int(ExitCode.STOPPED)})
    return Stop("fatal_reason", refusal.message, record)
