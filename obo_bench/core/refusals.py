"""Why a run did not happen, and with which status a process ends: the one table of both.

Refusal (RuntimeError)
|-- BenchmarkAdmissionRefused    stages seed_gate, lineage      exit 4
|   `-- SeedShapeRefused         stage seed_shape               exit 4
|-- RuntimeAttestationRefused    stage runtime_attestation      exit 3
`-- PreflightRefused             stage preflight                exit 5
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, ClassVar, Self


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
    FAILED = 1, "completed, but at least one instance failed"
    USAGE = 2, "usage error: bad flag or value; nothing was started"
    ATTESTATION = 3, "refused: runtime attestation"
    ADMISSION = 4, "refused: admission (seed gate, seed shape, lineage)"
    PREFLIGHT = 5, "refused: preflight (settings, selection, dataset, engine, gateway readiness, lock, run root)"
    EVALUATION = 6, "the official evaluation could not run, or left an instance that has a submission ungraded"
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
        Stage.SEED_GATE, "clear the bits with `git update-index --no-assume-unchanged --no-skip-worktree FILE`", _DIRTY
    ),
    "seed_mismatch": Reason(Stage.SEED_GATE, "check out the expected commit, or correct --expect"),
    "seed_not_toplevel": Reason(Stage.SEED_SHAPE, "name the top directory of the checkout with --repo-dir"),
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
    "settings_unreadable": Reason(Stage.PREFLIGHT, "correct the settings file, or name another with --settings-path"),
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
    "empty_selection": Reason(Stage.PREFLIGHT, "widen --filter, --slice, --difficulty or --language"),
    "unknown_instance": Reason(Stage.PREFLIGHT, "correct --instance-id; the message lists near matches"),
    "engine_unreachable": Reason(Stage.PREFLIGHT, "start Docker, or set DOCKER_HOST or the docker context"),
    "engine_disk_low": Reason(Stage.PREFLIGHT, "free disk space on the engine's root or on the runs root"),
    "evaluator_unavailable": Reason(
        Stage.PREFLIGHT, "install programbench and the docker command, or run with --no-eval"
    ),
    "run_locked": Reason(Stage.PREFLIGHT, "wait for the process that holds the run, or choose another --run-id"),
    "resume_config_mismatch": Reason(
        Stage.PREFLIGHT, "repeat the admitted configuration, choose another --run-id, or pass --accept-config-change"
    ),
    "practice_setup_failed": Reason(Stage.PREFLIGHT, "follow the advice in the message"),
    "run_root_unwritable": Reason(Stage.PREFLIGHT, "make the runs root writable, or choose another with --runs-root"),
    "output_not_confined": Reason(
        Stage.PREFLIGHT, "choose a --runs-root outside the checkout and the server's data directory"
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

UNRECORDED_REASONS = frozenset({"output_not_confined", "run_root_unwritable"})
"""Reasons with no rightful place on disk: they are told on stderr and in the `--json` envelope only."""

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
    """An invocation that was turned away: why, on what evidence, and what to do about it."""

    def __init__(self, reason: str, message: str, *, evidence: Mapping[str, Any] | None = None) -> None:
        """Build the refusal for a `reason` of `REASONS`; `message` names the offending value and the cause."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.evidence: dict[str, Any] = dict(evidence or {})

    @property
    def stage(self) -> Stage:
        """The gate that refused."""
        return REASONS[self.reason].stage

    @property
    def remedy(self) -> str:
        """What the operator can do."""
        return REASONS[self.reason].remedy

    @property
    def exit_code(self) -> int:
        """The status that the process ends with."""
        return int(STAGE_EXIT_CODES[self.stage])

    stages: ClassVar[frozenset[Stage]] = frozenset(Stage)
    """The stages whose reasons this class carries."""


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


class UsageError(ValueError):
    """A flag's value that cannot mean anything; names the value, the reason and the remedy. Exit status 2."""
