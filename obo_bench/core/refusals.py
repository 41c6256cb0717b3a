"""Why a run did not happen, and with which status a process ends: the one table of both.

Refusal (RuntimeError)
|-- BenchmarkAdmissionRefused    stages seed_gate, lineage      exit 4
|   `-- SeedShapeRefused         stage seed_shape               exit 4
|-- RuntimeAttestationRefused    stage runtime_attestation      exit 3
`-- PreflightRefused             stage preflight                exit 5
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, ClassVar, Self

from obo_bench.core import refusal_watch


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
            "(`--explain-override`: not set; `cancel`: not all)"
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


class Stage(StrEnum):
    """The gate that refused."""

    SEED_GATE = "seed_gate"
    SEED_SHAPE = "seed_shape"
    LINEAGE = "lineage"
    RUNTIME_ATTESTATION = "runtime_attestation"
    PREFLIGHT = "preflight"


@dataclass(frozen=True)
class Reason:
    """One row of the vocabulary."""

    stage: Stage
    """The gate it belongs to."""
    remedy: str
    """What the operator can do about it."""
    waiver: str = ""
    """The flag or variable that waives it and is then recorded; empty where nothing does."""


_DIRTY = "--allow-dirty-seed"

REASONS: Mapping[str, Reason] = {
    "seed_dirty": Reason(Stage.SEED_GATE, "commit or stash the changes listed above", _DIRTY),
    "seed_status_unavailable": Reason(Stage.SEED_GATE, "make `git status` work in the checkout", _DIRTY),
    "seed_identity_unavailable": Reason(
        Stage.SEED_GATE, "name a git checkout with at least one commit with --repo-dir", _DIRTY
    ),
    "seed_hidden_changes": Reason(
        Stage.SEED_GATE, "run the commands that the refusal names: they end what hides the changes", _DIRTY
    ),
    "seed_mismatch": Reason(Stage.SEED_GATE, "check out the expected commit, or correct --expect"),
    "seed_not_toplevel": Reason(Stage.SEED_SHAPE, "name the top directory of the checkout with --repo-dir"),
    "seed_is_not_a_git_directory": Reason(
        Stage.SEED_SHAPE,
        "use a clone: a worktree or submodule keeps its commits outside of the mounted directory",
    ),
    "seed_shallow": Reason(Stage.SEED_SHAPE, "fetch the whole history with `git fetch --unshallow`"),
    "stamp_absent": Reason(
        Stage.LINEAGE, "seed the volume again, so that `ouroboros_seed` in its git directory holds the seed's commit"
    ),
    "seed_head_unreadable": Reason(Stage.LINEAGE, "name a git checkout with at least one commit with --repo-dir"),
    "lineage_broken": Reason(
        Stage.LINEAGE, "restore the volume: its commit must descend from the one that it was seeded from"
    ),
    "lineage_unknown": Reason(
        Stage.LINEAGE,
        "fetch the commit (in a shallow clone: `git fetch --unshallow`), or correct --seed-commit",
    ),
    "runtime_unreachable": Reason(Stage.RUNTIME_ATTESTATION, "start the Ouroboros server, or correct --ouroboros-url"),
    "runtime_version_absent": Reason(
        Stage.RUNTIME_ATTESTATION, "point --ouroboros-url at an Ouroboros server; this one does not say what it runs"
    ),
    "commit_unavailable": Reason(
        Stage.RUNTIME_ATTESTATION, "name the checkout that the server runs from with --repo-dir (it needs VERSION)"
    ),
    "runtime_skew": Reason(
        Stage.RUNTIME_ATTESTATION,
        "restart the server from the checkout, or check out the version that it runs",
        "OBO_ALLOW_EVOLVED_VOLUME",
    ),
    "runtime_changed": Reason(
        Stage.RUNTIME_ATTESTATION, "find out who replaced the server; resume with the one the run was admitted with"
    ),
    "settings_unreadable": Reason(
        Stage.PREFLIGHT, "correct the settings file, or name another (--settings-path, --into)"
    ),
    "settings_changed": Reason(
        Stage.PREFLIGHT, "look at what became of the file (does the server write it?), then repeat the command"
    ),
    "model_slot_invalid": Reason(Stage.PREFLIGHT, "write the replacements that the message lists into the settings"),
    "solve_model_undeclared": Reason(
        Stage.PREFLIGHT, "declare the model with --solve-model, or set OUROBOROS_MODEL in the settings"
    ),
    "solve_model_mismatch": Reason(
        Stage.PREFLIGHT, "declare the model that the settings name, or change OUROBOROS_MODEL in the settings"
    ),
    "target_settings_mismatch": Reason(
        Stage.PREFLIGHT, "restart the server with the declared model, or declare the model that it runs"
    ),
    "target_settings_unavailable": Reason(
        Stage.PREFLIGHT, "make GET /api/settings of the server answer, so that the model it runs is known"
    ),
    "gateway_not_ready": Reason(
        Stage.PREFLIGHT, "wait until the server's workers are up; check its provider keys and its log"
    ),
    "gateway_auth_required": Reason(Stage.PREFLIGHT, "set OUROBOROS_NETWORK_PASSWORD to the server's network password"),
    "workspace_not_visible": Reason(
        Stage.PREFLIGHT, "use a server on this machine that can read the runs root, or move it with --runs-root"
    ),
    "dataset_unavailable": Reason(Stage.PREFLIGHT, "reinstall the programbench package"),
    "ids_file_unreadable": Reason(Stage.PREFLIGHT, "name a UTF-8 text file with one instance id a line"),
    "pins_unreadable": Reason(
        Stage.PREFLIGHT,
        "name a run_manifest.json or instance_order.json of a run with the right images, or lines name@sha256:...",
    ),
    "run_not_graded": Reason(
        Stage.PREFLIGHT, "grade it with `run --eval` and its --run-id, or with `obo-bench programbench eval`"
    ),
    "scores_unreadable": Reason(
        Stage.PREFLIGHT, "name an evaluated run, an official _stats/score.json, eval.json files, or a CSV of id,score"
    ),
    "instruction_unreadable": Reason(
        Stage.PREFLIGHT, "name a UTF-8 text file with the task as the agent is to read it (--instruction-file)"
    ),
    "empty_selection": Reason(Stage.PREFLIGHT, "widen --filter, --slice, --difficulty or --language"),
    "unknown_instance": Reason(Stage.PREFLIGHT, "correct --instance-id; the message lists near matches"),
    "engine_unreachable": Reason(Stage.PREFLIGHT, "start Docker, or set DOCKER_HOST or the docker context"),
    "engine_disk_low": Reason(Stage.PREFLIGHT, "free disk space on the engine's root or on the runs root"),
    "evaluator_unavailable": Reason(
        Stage.PREFLIGHT,
        "install programbench and the docker command (PROGRAMBENCH_PYTHON names its interpreter); `run` also goes "
        "without, with --no-eval",
    ),
    "run_locked": Reason(Stage.PREFLIGHT, "wait for the process that holds the run, or choose another --run-id"),
    "run_not_found": Reason(
        Stage.PREFLIGHT, "name the run's directory, or its id with --runs-root saying where runs are kept"
    ),
    "resume_config_mismatch": Reason(
        Stage.PREFLIGHT, "repeat the admitted configuration, choose another --run-id, or pass --accept-config-change"
    ),
    "budget_insufficient": Reason(Stage.PREFLIGHT, "raise the key's limit, or lower --min-budget-usd"),
    "budget_unreadable": Reason(
        Stage.PREFLIGHT, "set a valid OPENROUTER_API_KEY in the settings, or leave --min-budget-usd out"
    ),
    "practice_setup_failed": Reason(Stage.PREFLIGHT, "follow the advice in the message"),
    "run_root_unwritable": Reason(Stage.PREFLIGHT, "make the runs root writable, or choose another with --runs-root"),
    "leaderboard_not_possible": Reason(
        Stage.PREFLIGHT, "evaluate the run first (`programbench eval`), then export its graded instances"
    ),
    "destination_taken": Reason(
        Stage.PREFLIGHT, "choose another --dest: an export has a directory of its own, and only one source"
    ),
    "output_unwritable": Reason(
        Stage.PREFLIGHT, "name a file outside of every run, in a directory that exists and can be written"
    ),
    "output_not_confined": Reason(
        Stage.PREFLIGHT,
        "choose a place outside the checkout, the server's data directory and what is read (--runs-root, --output)",
    ),
}
"""Every reason an invocation can be refused for, in the order of the gates."""

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
