"""The run manifest, `run_manifest.json`: what was asked, of what, and how it ended (wire format, versioned)."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel

Outcome = Literal[
    "started",
    "completed",
    "instances_failed",
    "refused",
    "dry_run",
    "official_eval_error",
    "nothing_exported",
    "gate_no_go",
    "gate_inconclusive",
    "child_failed",
    "stopped_provenance",
    "stopped_systemic",
    "stopped_budget",
    "interrupted",
    "crashed",
]


class Source(WireModel):
    """Identity and state of the checkout that the server runs from."""

    repo_dir: str = ""
    """The checkout the command was handed."""
    version: str | None = None
    """First line of its VERSION file."""
    head: str | None = None
    """Full commit hash."""
    branch: str | None = None
    """Branch name; null on a detached head."""
    git_dir_kind: str | None = None
    """directory, worktree, submodule, or elsewhere (`.git` is any other link); null when unknown."""
    shallow: bool | None = None
    """Whether the history is cut; null when unknown."""
    remotes: dict[str, str] = Field(default_factory=dict)
    """Addresses of the remotes, without user information, query and fragment."""
    describe: str | None = None
    """`git describe --always --tags`."""
    git_available: bool = False
    """Whether a commit could be read."""
    status_available: bool = False
    """Whether the state of the work tree could be read."""
    dirty: bool | None = None
    """Whether anything differs from the commit; null when unknown."""
    status_entries: list[str] = Field(default_factory=list)
    """Changed and untracked paths (the first 200), each with git's two-letter state."""
    status_sha256: str | None = None
    """Hash of git's whole answer on changed and untracked paths, in the porcelain format version 2."""
    contents_read: bool | None = None
    """Whether every tracked file was read; false where the checkout is so large that git's index was believed."""
    ignored_importable: list[str] = Field(default_factory=list)
    """Ignored files that Python can import from the checkout's top (the first 200)."""
    ignored_importable_count: int | None = None
    """How many were found; at least this many where large ignored directories were not walked to their end."""
    tracked_diff_available: bool = False
    """Whether the changed tracked files could be read."""
    tracked_diff_sha256: str | None = None
    """Hash that identifies the contents of the changed tracked files."""
    tracked_diff_method: str = "sha256 over sorted 'path mode sha256' lines of modified tracked files"
    """How the previous field is made."""


class SeedGate(WireModel):
    """Verdict of the clean-seed gate."""

    require_clean: bool = True
    """Whether cleanliness was required."""
    allow_dirty_seed: bool = False
    """Whether --allow-dirty-seed was given."""
    expect: str | None = None
    """The commit prefix or version that was demanded."""
    git_available: bool = False
    """As in `source`."""
    status_available: bool = False
    """As in `source`."""
    dirty: bool | None = None
    """As in `source`."""
    describe: str | None = None
    """As in `source`."""
    reason: str | None = None
    """Why the gate objected, also where the objection was waived."""
    ok: bool = False
    """Whether the run may go on."""


class Lineage(WireModel):
    """Verdict on the line of descent, where it was asked for or a stamp was found."""

    seed_commit: str | None = None
    """The commit that --seed-commit named."""
    require_stamp: bool = False
    """Whether a stamp was required."""
    stamp: str | None = None
    """The commit in the seed stamp; null when there is none."""
    head: str | None = None
    """The checkout's commit."""
    reason: str | None = None
    """Why the line of descent does not hold."""
    ok: bool | None = None
    """Whether the run may go on; null when nobody asked."""


class RefusalRecord(WireModel):
    """The refusal as it was raised."""

    stage: str
    """The gate that refused."""
    reason: str
    """Its typed reason."""
    exit_code: int
    """The process's exit status."""
    message: str
    """What was found."""
    remedy: str
    """What to do about it."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """What the verdict rests on."""


class ErrorRecord(WireModel):
    """An ending that is neither a result nor a refusal."""

    type: str
    """Exception type; the outcome where a launcher concluded with it and said why."""
    message: str
    """Its text."""


class Extra(WireModel):
    """What is known only while or after the run."""

    outcome: Outcome | LaterWord = "started"
    """How it ended; `started` while it runs or after a kill."""
    exit_code: int | None = None
    """The status that the process ended with; null while it runs."""
    finished_at_unix: float | None = None
    """When the ending was recorded, in wall-clock seconds."""
    refusal: RefusalRecord | None = None
    """The refusal, if that is how it ended."""
    error: ErrorRecord | None = None
    """The error, if that is how it ended."""
    swallowed_refusals: list[RefusalRecord] = Field(default_factory=list)
    """Refusals that were caught on the way and not dealt with, where another error or refusal is the ending."""
    lineage: Lineage | None = None
    """The line of descent; null when nobody asked and no stamp was found."""
    runtime_attestation: dict[str, Any] | None = None
    """The attestation record."""
    server_events: list[dict[str, Any]] = Field(default_factory=list)
    """Restarts and changes of the server that were seen during the run, each with its time."""
    still_running: list[dict[str, str]] = Field(default_factory=list)
    """Tasks that nobody has seen ended, so that they may still spend: instance_id, task_id and container of each."""
    eval_requested: bool = False
    """Whether the official evaluation was asked for."""
    official_eval_status: str = "not_requested"
    """not_requested, not_run, completed or error."""
    grades: dict[str, Any] = Field(default_factory=dict)
    """Totals of the grades, with name and SHA-256 of the file that holds them; empty without an evaluation."""
    completed_count: int | None = None
    """Instances with a submission, earlier ones included."""
    failed_count: int | None = None
    """Instances that failed."""
    skipped_count: int | None = None
    """Instances that were done already."""
    not_attempted_count: int | None = None
    """Instances that were never started."""
    degraded_count: int | None = None
    """Completed instances whose solve was not clean."""
    protected_paths: list[str] = Field(default_factory=list)
    """Artifacts that the agent may run only."""
    shuffle: bool = False
    """Whether the official shuffle was applied."""
    shuffle_seed: int | None = None
    """Its seed."""
    cost: dict[str, Any] = Field(default_factory=dict)
    """Money, as the server reports it."""
    invocations: list[dict[str, Any]] = Field(default_factory=list)
    """Earlier invocations on this run root and how they ended."""
    child_exit_code: int | None = None
    """Exit status of a wrapped command."""
    child_report: dict[str, Any] = Field(default_factory=dict)
    """What a wrapped command claimed, what was found wrong with it, and why it was stopped; empty without one."""


class RunManifest(WireModel):
    """The whole document."""

    schema_: Literal["ouroboros.benchmark.run_manifest.v1"] = Field(
        "ouroboros.benchmark.run_manifest.v1", alias="schema"
    )
    """Format name."""
    benchmark: str
    """The benchmark's name."""
    command: str = ""
    """The subcommand that was recorded; empty in documents of other tools of the family."""
    invocation: str = ""
    """Id of this invocation; empty likewise."""
    created_at_unix: float
    """When it was admitted, in wall-clock seconds."""
    run_root: str
    """The directory of the run."""
    requested_task_ids: list[str] | None = None
    """What was asked for: the denominator of every rate; null until it is known."""
    requested_count: int | None = None
    """Its length; null until it is known."""
    argv: list[str] = Field(default_factory=list)
    """The command line, secrets redacted."""
    dataset: str = ""
    """The data set and its version."""
    harness: dict[str, Any] = Field(default_factory=dict)
    """Versions, server, engine, images, limits and selection."""
    official_command: list[str] = Field(default_factory=list)
    """The official evaluator's command line."""
    timeout_sec: float | None = None
    """Time limit of one instance in seconds; that of the whole launcher where `exec` started it."""
    isolated_data_root: str | None = None
    """A data directory of its own that the server was given."""
    output_paths: dict[str, str] = Field(default_factory=dict)
    """Where results lie."""
    model_slots: dict[str, str] = Field(default_factory=dict)
    """Model names by slot."""
    provider_credentials: dict[str, bool] = Field(default_factory=dict)
    """Which keys exist; never their values."""
    source: Source = Field(default_factory=Source)
    """The checkout."""
    seed_gate: SeedGate = Field(default_factory=SeedGate)
    """The clean-seed verdict."""
    extra: Extra = Field(default_factory=Extra)
    """Outcome and everything learnt on the way."""
