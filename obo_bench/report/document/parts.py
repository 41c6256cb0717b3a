"""Parts of the report document: what was asked, how it ended, what is proven, what it scored and cost."""

from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel

FindingVerdict = Literal["ok", "limited", "waived", "failed", "unknown", "not_asked"]
"""What a check of the record came to."""


class Fact(WireModel):
    """One thing that is known of a run, for people."""

    name: str
    """What it is."""
    value: str
    """What is known of it."""


class RunFacts(WireModel):
    """Which run this is."""

    run_id: str
    """Name of its directory."""
    run_root: str
    """Its directory."""
    benchmark: str = ""
    """The benchmark; empty when no manifest can be read, as the next three."""
    command: str = ""
    """The command that made it."""
    invocation: str = ""
    """The last invocation."""
    model: str = ""
    """The model that had to solve, as it was declared."""
    server_version: str = ""
    """The version that the server attested; empty when unknown."""
    created_at_unix: float | None = None
    """When the last invocation was admitted, in wall-clock seconds."""
    finished_at_unix: float | None = None
    """When its ending was recorded; null while there is none."""
    begun_at_unix: float | None = None
    """When the first invocation on this run root was admitted, in wall-clock seconds; null when unknown."""
    worked_sec: float | None = None
    """What all invocations took, each from its admission to its ending or to now, without the time between them."""
    worked_is_lower_bound: bool = False
    """Whether one of them was killed: that one counts to the last line of its log."""
    requested_count: int | None = None
    """Instances that were asked for: the denominator; null when unknown."""
    practice: str = ""
    """Why its scores mean nothing; empty for what is no practice run."""


class Ending(WireModel):
    """How the run ended, or that it has not."""

    outcome: str
    """The recorded outcome; `running` or `killed` where none is recorded, `unknown` where no manifest can be read."""
    exit_code: int | None = None
    """The recorded exit status."""
    alive: bool | None = None
    """Whether a process holds the run now; null when that cannot be tried."""
    words: str = ""
    """The outcome in plain words."""
    message: str = ""
    """What the refusal or the error says; empty where there was none."""
    reason: str = ""
    """The refusal's reason, or the error's type."""
    remedy: str = ""
    """What can be done now; empty where nothing has to be."""


class Invocation(WireModel):
    """One invocation on the run root."""

    invocation: str
    """Its id."""
    command: str
    """Its command."""
    created_at_unix: float
    """When it was admitted."""
    outcome: str
    """How it ended; `killed` where no ending is on record and no process goes on with it."""
    exit_code: int | None
    """Its exit status."""


class Finding(WireModel):
    """One check of what the record proves."""

    name: str
    """What was checked."""
    verdict: FindingVerdict | LaterWord
    """ok, limited (it holds in part, as the words say), waived (an objection that the operator overruled), failed,
    unknown (the record does not tell), not_asked."""
    words: str
    """The verdict in plain words."""
    evidence: str = ""
    """The values it rests on."""


class ScoreBin(WireModel):
    """One column of the distribution of scores."""

    label: str
    """The range, for people."""
    count: int
    """Instances whose official score lies in it."""


class Scores(WireModel):
    """The headline; every figure is taken from `grade_summary.json` as it stands."""

    evaluation_status: str
    """How the evaluation as a whole ended."""
    evaluator_version: str
    """Version of the official package; empty when unknown."""
    requested: int
    """Instances that were asked for."""
    submitted: int
    """Those with a submission."""
    passed: int
    """Those with the official score 1.0."""
    failed: int
    """Those with an official verdict below."""
    ungraded: int
    """Those without an official verdict."""
    official_listed: int
    """Denominator of the first official mean: instances that the official tool lists."""
    official_mean_over_listed: float | None
    """The first official mean; null when nothing is listed."""
    official_benchmark_size: int
    """Denominator of the second official mean: all instances of the benchmark."""
    official_mean_over_benchmark: float | None
    """The second official mean; what is missing counts 0."""
    resolved: int
    """Official: listed instances with a score of exactly 1.0."""
    near_resolved: int | None
    """Official: listed instances with at least 0.95; null in older files."""
    graded: int
    """Denominator of the shrunken mean: instances with a verdict."""
    shrunken_mean: float | None
    """Mean over the graded only: good for diagnosis, never for publication."""
    shrunken_diagnostic_not_leaderboard_valid: Literal[True] = True
    """Said in the document itself."""
    distribution: list[ScoreBin] = Field(default_factory=list)
    """Graded instances by score."""


class Money(WireModel):
    """What the run has cost, all attempts of all invocations."""

    known_usd: float
    """Sum of the known costs, in USD."""
    unknown_attempts: int
    """Attempts whose cost is unknown; not 0 USD each."""
    lower_bound: bool
    """Whether more may have been spent than `known_usd`."""
    at_most_usd: float | None = None
    """How much was spent at most; null when nothing bounds it."""
    ceiling_usd: float | None = None
    """The ceiling of the run (--max-cost-usd); null when there was none."""


class Attempts(WireModel):
    """How often instances were solved."""

    attempts: int
    """Attempts for which a task was given to the server."""
    instances_with_several: int
    """Instances with more than one."""
    after_infrastructure: int
    """Repeats after an attempt that the infrastructure ended."""
    asked_for: int
    """Repeats that a manifest announces."""
    undeclared: int
    """Repeats that none announces; anything but 0 may hide a best-of-N."""
    degraded: int
    """Submissions of a solve that was not clean."""


class Failure(WireModel):
    """One reason for which instances did not pass."""

    kind: str
    """solve or grade."""
    reason: str
    """The reason as it is recorded."""
    count: int
    """Instances that it concerns."""
    remedy: str
    """What can be done."""
    instance_ids: list[str]
    """Which they are."""
