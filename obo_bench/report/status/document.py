"""What `status` answers, `obo_bench.status.v1` (wire format): the facts of one moment, each with where it comes from.

Times are wall-clock seconds, money is USD; null means that a fact is not known, never that it is zero.
"""

from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel

ProcessState = Literal["alive", "ended", "killed", "unknown"]
InstanceState = Literal[
    "waiting",
    "preparing",
    "queued",
    "submitting",
    "solving",
    "packaging",
    "left",
    "not_begun",
    "unknown",
    "completed",
    "skipped",
    "failed",
    "blocked",
    "not_attempted",
]
AT_WORK = frozenset({"preparing", "queued", "submitting", "solving", "packaging"})
"""States of an instance that a living process is busy with."""


class ProcessStatus(WireModel):
    """The process behind the record."""

    state: ProcessState | LaterWord
    """alive (it holds the run's lock), ended (its ending is recorded), killed (it is gone without one), unknown."""
    command: str = ""
    """What it does or did; empty when the record of its invocation is not there."""
    invocation: str = ""
    """Its invocation."""
    pid: int | None = None
    """Its number, while it lives or when it was killed."""
    host: str | None = None
    """Its machine, likewise."""
    since_unix: float | None = None
    """When it took the run's lock, likewise."""
    detail: str = ""
    """Why the state is unknown."""


class ServerStatus(WireModel):
    """The server that the run was admitted with, and what answers at its address now."""

    url: str = ""
    """Its address; empty when the record names none."""
    admitted_version: str | None = None
    """The version that was attested."""
    reachable: bool | None = None
    """Whether it answered; null when it was not asked."""
    version: str | None = None
    """The version that answers now."""
    same: bool | None = None
    """Whether that is the admitted one."""
    ready: bool | None = None
    """Whether it can take a task."""
    running: int | None = None
    """Tasks at work at the server, of all its users."""
    pending: int | None = None
    """Tasks waiting there."""
    spent_usd: float | None = None
    """Spent by its data directory so far."""
    budget_usd: float | None = None
    """Its TOTAL_BUDGET; null when there is none."""
    detail: str = ""
    """Why it was not asked or did not answer."""


class MoneyStatus(WireModel):
    """What the run has cost so far."""

    known_usd: float = 0.0
    """Sum of the known costs of all attempts that the ledger tells."""
    unknown_attempts: int = 0
    """Attempts whose cost is not known."""
    lower_bound: bool = False
    """Whether more may have been spent than `known_usd`."""
    running_usd: float | None = None
    """What the tasks at work have cost so far, as far as the server says; null when it does not."""
    ceiling_usd: float | None = None
    """The --max-cost-usd of the run."""


class ContainerStatus(WireModel):
    """The cleanroom of an instance, as the engine tells."""

    name: str
    """Its name."""
    state: str | None = None
    """running, exited, ... in the engine's words; `gone` when it does not know it; null when it was not asked."""
    detail: str = ""
    """The engine's own text, such as `Up 2 minutes`."""


class NextStep(WireModel):
    """What a resume would do with an instance."""

    step: str
    """skip, keep, attach, repost, solve, cancelled, held, block, or `ask` where only the server can tell."""
    attempt: int = 1
    """The attempt that it belongs to."""
    why: str = ""
    """The same for people."""


class InstanceStatus(WireModel):
    """One requested instance."""

    instance_id: str
    """The instance."""
    state: InstanceState | LaterWord
    """waiting, preparing, queued (for an idle worker of the server), submitting, solving, packaging; left (its task
    may go on without a process of ours), not_begun (and nobody is there to begin it), unknown (a launcher was started
    and told nothing of it); or the status of its last ledger row."""
    since_unix: float | None = None
    """Since when."""
    attempt: int | None = None
    """Number of the attempt; null before the first one."""
    task_id: str = ""
    """Its task; empty when there is none."""
    task_status: str = ""
    """The server's word for the task, as last seen."""
    rounds: int | None = None
    """Model calls so far."""
    cost_usd: float | None = None
    """Cost of the attempt, as far as it is known."""
    cost_is_final: bool | None = None
    """Whether nothing more can be added to it."""
    container: ContainerStatus | None = None
    """Its cleanroom; null when it has none."""
    reason_code: str = ""
    """Reason of the last ledger row."""
    error: str = ""
    """The row's human line."""
    degraded: bool = False
    """Whether it completed with something wrong on the way."""
    verdict: str = ""
    """pass, fail or ungraded; empty before an evaluation."""
    score: float | None = None
    """Official score from 0 to 1."""
    next_step: NextStep | None = None
    """What a resume would do; null while a process is at work, and for what cannot be resumed."""


class EvaluationStatus(WireModel):
    """The official evaluation."""

    state: str
    """not_requested, not_run, running, completed or error."""
    begun: int = 0
    """Instances whose evaluator has been started by the present invocation."""
    finished: int = 0
    """Those of them with a result."""


class GradeStatus(WireModel):
    """The headline of `grade_summary.json`; without such a file the official verdicts of the rows."""

    passed: int
    """Instances with the official score 1.0."""
    failed: int
    """Instances with an official verdict below."""
    ungraded: int
    """Instances without an official verdict."""
    mean_over_listed: float | None = None
    """Official mean over the instances that `programbench info` lists."""
    mean_over_benchmark: float | None = None
    """Official mean over the whole benchmark, missing instances counting 0."""


class Event(WireModel):
    """Something that happened."""

    ts_unix: float
    """When."""
    subject: str = ""
    """The instance; empty for the run itself."""
    text: str
    """What."""


class ResumeStatus(WireModel):
    """What another invocation would do."""

    command: list[str]
    """The exact command line; empty where it cannot be known, as the notes then say."""
    shell: str
    """The same, to be pasted into a shell of any directory."""
    steps: dict[str, int]
    """Instances by what would be done with them."""
    notes: list[str] = Field(default_factory=list)
    """What stands in its way, or has to be known before."""


class RunStatus(WireModel):
    """The whole document."""

    schema_: Literal["obo_bench.status.v1"] = Field("obo_bench.status.v1", alias="schema")
    """Format name."""
    taken_at_unix: float
    """When the facts were collected."""
    kind: str
    """run, export, prepared, attest, gate, graded (a directory that was only evaluated), exec, benchmark_run, campaign,
    grade or other."""
    run_id: str
    """Name of the directory."""
    run_root: str
    """The directory."""
    command: str = ""
    """The command that made the record."""
    outcome: str
    """The recorded outcome; `started` while a process is at work, `killed` when it is gone without an ending."""
    exit_code: int | None = None
    """The recorded exit status."""
    why: str = ""
    """Message of the refusal or error that ended it; of a launcher that told nothing, that."""
    remedy: str = ""
    """What to do about a refusal."""
    created_at_unix: float | None = None
    """When the invocation was admitted."""
    finished_at_unix: float | None = None
    """When its ending was recorded."""
    elapsed_sec: float | None = None
    """From its admission to its end, or to now; null for a killed one, whose end nobody saw."""
    begun_at_unix: float | None = None
    """When the first invocation on this run root was admitted, in wall-clock seconds; null when unknown."""
    worked_sec: float | None = None
    """What all invocations took, each from its admission to its ending or to now, without the time between them."""
    worked_is_lower_bound: bool = False
    """Whether one of them was killed: that one counts to the last line of its log."""
    invocations: int = 0
    """How many invocations that were; 0 when unknown."""
    killed_invocations: int = 0
    """Those of them that were killed."""
    process: ProcessStatus
    """The process."""
    server: ServerStatus
    """The server."""
    model: str | None = None
    """The model that solves."""
    workers: int | None = None
    """Instances at work at a time."""
    money: MoneyStatus
    """What it has cost."""
    requested: int | None = None
    """Instances that were asked for; null before that is known."""
    totals: dict[str, int]
    """Instances by state."""
    instances: list[InstanceStatus]
    """The instances, in the order in which they were asked for."""
    evaluation: EvaluationStatus
    """The official evaluation."""
    grades: GradeStatus | None = None
    """The grades; null before there are any."""
    engine: str = ""
    """Why the engine did not tell of containers; empty when it did or was not asked."""
    events: list[Event] = Field(default_factory=list)
    """The last ones, the oldest first."""
    resume: ResumeStatus | None = None
    """What a resume would do; null while a process is at work, and for what cannot be resumed."""
    problems: list[str] = Field(default_factory=list)
    """What of the record cannot be read or is damaged."""
