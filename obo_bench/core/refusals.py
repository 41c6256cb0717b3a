"""Why a run did not happen, and with which status a process ends: the one table of both.

Refusal (RuntimeError)
|-- BenchmarkAdmissionRefused    stages seed_gate, lineage      exit 4
|   `-- SeedShapeRefused         stage seed_shape               exit 4
|-- RuntimeAttestationRefused    stage runtime_attestation      exit 3
`-- PreflightRefused             stage preflight                exit 5
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, Self

from obo_bench.core import refusal_watch
from obo_bench.core.refusal_reasons import REASONS, Stage


class ExitCode(IntEnum):
    """The statuses `obo-bench` ends with; `meaning` is the text of README's table."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """Attach the meaning to the number."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = 0, "completed; every instance succeeded (or was already done)"
    FAILED = (
        1,
        (
            "completed, but at least one instance failed, not all could be exported, or the gate said NO-GO "
            "(`--explain-override`: not set; `cancel`: not all; a command that only looks: its answer could not be "
            "written)"
        ),
    )
    USAGE = 2, "usage error: bad flag or value; nothing was started"
    ATTESTATION = 3, "refused: runtime attestation"
    ADMISSION = 4, "refused: admission (seed gate, seed shape, lineage)"
    PREFLIGHT = 5, "refused: preflight (settings, budget, selection, dataset, engine, readiness, lock, outputs)"
    EVALUATION = (
        6,
        (
            "the official evaluation could not run, or left an instance that has a submission ungraded; "
            "the gate is INCONCLUSIVE"
        ),
    )
    STOPPED = 7, "stopped: a campaign-fatal provenance reason, or the same infrastructure reason again and again"
    BUDGET = 8, "stopped: spending ceiling reached"
    CRASHED = 70, "crashed: a bug in obo-bench"
    SIGHUP = 129, "ended by SIGHUP"
    SIGINT = 130, "ended by SIGINT (Ctrl-C)"
    SIGTERM = 143, "ended by SIGTERM"


STAGE_EXIT_CODES: Mapping[Stage, ExitCode] = {
    Stage.SEED_GATE: ExitCode.ADMISSION,
    Stage.SEED_SHAPE: ExitCode.ADMISSION,
    Stage.LINEAGE: ExitCode.ADMISSION,
    Stage.RUNTIME_ATTESTATION: ExitCode.ATTESTATION,
    Stage.PREFLIGHT: ExitCode.PREFLIGHT,
}

CAMPAIGN_FATAL_PROVENANCE_REASONS = frozenset(
    {
        "stamp_absent",
        "seed_mismatch",
        "lineage_broken",
        "lineage_unknown",
        "runtime_skew",
        "runtime_unreachable",
        "runtime_version_absent",
        "runtime_changed",
        "seed_head_unreadable",
        "commit_unavailable",
    }
)
"""Reasons that hold for every remaining task: whoever drives several must stop at once."""

OVERRIDABLE_ATTESTATION_REASONS = frozenset({"runtime_skew"})
"""What OBO_ALLOW_EVOLVED_VOLUME can waive."""


class Refusal(RuntimeError):
    """An invocation that was turned away: why, on what evidence, and what to do about it.

    One is built only to be raised. Whoever catches it and goes on must `settle` it; the seam ends an invocation as
    refused when a refusal was swallowed on the way.
    """

    def __init__(
        self, reason: str, message: str, *, evidence: Mapping[str, Any] | None = None, remedy: str | None = None
    ) -> None:
        """Build the refusal for a `reason` of `REASONS`; `message` names the offending value and the cause.

        `remedy` replaces the table's where the case at hand allows a more exact one.
        """
        if REASONS[reason].stage not in self.stages:
            raise ValueError(f"{reason!r} is no reason of {type(self).__name__}")
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.evidence: dict[str, Any] = dict(evidence or {})
        self._remedy = remedy
        refusal_watch.note(self)

    @property
    def stage(self) -> Stage:
        """The gate that refused."""
        return REASONS[self.reason].stage

    @property
    def remedy(self) -> str:
        """What the operator can do."""
        return self._remedy or REASONS[self.reason].remedy

    @property
    def exit_code(self) -> int:
        """The status that the process ends with."""
        return int(STAGE_EXIT_CODES[self.stage])

    stages: ClassVar[frozenset[Stage]] = frozenset(Stage)
    """The stages whose reasons this class carries."""

    def settle(self) -> None:
        """Say that this refusal has been dealt with and must not decide how the invocation ends."""
        refusal_watch.settle(self)


class BenchmarkAdmissionRefused(Refusal):
    """The checkout is not what the run would claim it is."""

    stages = frozenset({Stage.SEED_GATE, Stage.LINEAGE})


class SeedShapeRefused(BenchmarkAdmissionRefused):
    """The seed is not a checkout of the needed shape."""

    stages = frozenset({Stage.SEED_SHAPE})


class RuntimeAttestationRefused(Refusal):
    """The live server is not the one that the checkout describes."""

    stages = frozenset({Stage.RUNTIME_ATTESTATION})


class PreflightRefused(Refusal):
    """Something that the run needs is missing or contradicts what was declared."""

    stages = frozenset({Stage.PREFLIGHT})


@dataclass(frozen=True)
class Objection:
    """What a gate holds against an invocation; it becomes a refusal only when nothing waives it."""

    reason: str
    """One of `REASONS`."""
    message: str
    """The offending value and the cause."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """What the verdict rests on."""
    remedy: str | None = None
    """A more exact remedy than the table's."""

    def refusal(self) -> Refusal:
        """Return the refusal to raise, of the class that carries the reason's stage."""
        stage = REASONS[self.reason].stage
        kind = next(found for found in _FAMILY if stage in found.stages)
        return kind(self.reason, self.message, evidence=self.evidence, remedy=self.remedy)


_FAMILY = (BenchmarkAdmissionRefused, SeedShapeRefused, RuntimeAttestationRefused, PreflightRefused)


class UsageError(ValueError):
    """A flag's value that cannot mean anything; names the value, the reason and the remedy. Exit status 2."""
