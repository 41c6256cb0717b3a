"""How a launcher's run ends: what it said, what its rows show and what broke, weighed once for both situations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, Self, cast, get_args

from obo_bench.core.ending import exit_status, outcome_of, says_success
from obo_bench.core.refusals import ExitCode, Refusal, UsageError
from obo_bench.launch.helper.tally import Tally

Concluded = Literal[
    "completed",
    "instances_failed",
    "nothing_exported",
    "official_eval_error",
    "stopped_systemic",
    "stopped_budget",
    "child_failed",
]
"""How a launcher can say that its run ends; a refusal is raised, never concluded."""
EXIT_CODES: Mapping[Concluded, ExitCode] = MappingProxyType(
    {
        "completed": ExitCode.OK,
        "instances_failed": ExitCode.FAILED,
        "nothing_exported": ExitCode.FAILED,
        "official_eval_error": ExitCode.EVALUATION,
        "stopped_systemic": ExitCode.STOPPED,
        "stopped_budget": ExitCode.BUDGET,
        "child_failed": ExitCode.FAILED,
    }
)
"""The status of the process for each."""


@dataclass(frozen=True)
class Conclusion:
    """What a run ends with."""

    outcome: Concluded | Literal["stopped_provenance"]
    """Its typed outcome."""
    exit_code: int
    """The status of the process."""
    message: str = ""
    """One human line."""

    @classmethod
    def of(cls, outcome: str, message: str, exit_code: int | None) -> Self:
        """Return what a launcher says; raises UsageError for an outcome or a status that means nothing."""
        if outcome not in get_args(Concluded):
            known = ", ".join(get_args(Concluded))
            raise UsageError(f"{outcome!r:.200} is no outcome of a launcher: use one of {known}")
        said = cast("Concluded", outcome)
        if exit_code is not None and (said != "child_failed" or not 0 < exit_code <= 255):
            raise UsageError(
                f"exit_code {exit_code} with {said!r}: only child_failed takes a status of its own, from 1 to 255"
            )
        return cls(said, int(EXIT_CODES[said]) if exit_code is None else exit_code, message)


@dataclass(frozen=True)
class Ending:
    """How a run ends."""

    conclusion: Conclusion
    """What stands where nothing broke."""
    broke: BaseException | None
    """What broke it, and outranks the conclusion."""
    stop: Refusal | None
    """The campaign-fatal refusal that stopped it."""
    tally: Tally | None
    """What its rows show; None where they cannot be read."""

    @property
    def leaving(self) -> BaseException | None:
        """What leaves the launcher's block; None where that ends as it would by itself."""
        return self.stop or self.broke

    @property
    def exit_code(self) -> int:
        """The status of the process."""
        return self.conclusion.exit_code if self.broke is None else exit_status(self.broke)

    def broken_by(self, error: BaseException) -> Self:
        """Return this ending as one that `error` broke."""
        return replace(self, broke=error, stop=None)

    @classmethod
    def decide(
        cls, error: BaseException | None, stops: Sequence[Refusal], said: Conclusion | None, counted: Tally | None
    ) -> Self:
        """Weigh all of it: a signal or a crash outranks a stop, a stop all else, and rows outrank what was said."""
        if stops and not _outranks_stop(error):
            stopped = Conclusion("stopped_provenance", int(ExitCode.STOPPED), stops[0].message)
            return cls(stopped, None, stops[0], counted)
        conclusion = said or Conclusion("completed", int(ExitCode.OK))
        if conclusion.outcome == "completed" and not (counted and counted.clean):
            conclusion = Conclusion("instances_failed", int(ExitCode.FAILED), conclusion.message)
        known = said is not None or (counted is not None and counted.failed > 0)
        repeats = known and isinstance(error, SystemExit) and error.code == conclusion.exit_code
        broke = None if error is None or says_success(error) or repeats else error
        return cls(conclusion, broke, None, counted)


def _outranks_stop(error: BaseException | None) -> bool:
    return error is not None and not says_success(error) and outcome_of(error) in ("crashed", "interrupted")
