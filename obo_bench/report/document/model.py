"""The report of a run (wire format `obo_bench.report.v1`): HTML, Markdown and JSON are made from this one document."""

from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import WireModel
from obo_bench.report.document.parts import (
    Attempts,
    Ending,
    Fact,
    Failure,
    Finding,
    Invocation,
    Money,
    RunFacts,
    Scores,
)
from obo_bench.report.row_grades import RowGrades


class Attempt(WireModel):
    """One attempt at an instance."""

    attempt: int
    """Its number, from 1."""
    status: str
    """How it ended."""
    reason: str
    """Why."""
    ended_at_unix: float
    """When its row was written, in wall-clock seconds."""
    begun_at_unix: float | None = None
    """When it began."""
    durations: dict[str, float] = Field(default_factory=dict)
    """Seconds by phase."""
    by_wall_clock: bool = False
    """Whether its task went on between invocations: `solve` is then its time at the server by the wall clock."""
    cost_usd: float | None = None
    """What it cost; null when unknown."""


class Artifact(WireModel):
    """A file of an instance."""

    name: str
    """What it is."""
    path: str
    """Where it is, relative to the run root."""


class InstanceReport(WireModel):
    """One instance."""

    instance_id: str
    """The instance."""
    status: str
    """Status of its last ledger row; where there is none, not_attempted, or unknown after a launcher was started."""
    reason: str
    """Reason of that row; no_ledger_row or no_result_reported where there is none."""
    error: str = ""
    """Its one line for people."""
    verdict: str = ""
    """The official grade: pass, fail or ungraded; empty where nothing was graded."""
    score: float | None = None
    """Official score from 0 to 1; null when ungraded."""
    passed: int | None = None
    """Tests passed; null without an official file, as the next two."""
    failed: int | None = None
    """Tests that ran and did not pass."""
    not_run: int | None = None
    """Tests without a result."""
    grade_reason: str = ""
    """Why the grade is what it is."""
    blame: str = ""
    """Who kept it from passing."""
    grade_detail: str = ""
    """The evaluator's own words."""
    remedy: str = ""
    """What can be done; empty where nothing has to be."""
    cost_usd: float | None = None
    """Known cost of all attempts in USD; null when no attempt's cost is known."""
    unknown_costs: int = 0
    """Attempts whose cost is unknown."""
    cost_is_lower_bound: bool = False
    """Whether more may have been spent than `cost_usd`."""
    seconds: float | None = None
    """What its attempts took, all phases, in seconds; null when unknown."""
    degraded: bool = False
    """Whether the solve was not clean."""
    protection: str = ""
    """How the reference was protected: os, policy, or empty when unknown."""
    image: str = ""
    """The image it was solved in: name, and digest or id."""
    submission_sha256: str = ""
    """SHA-256 of the submission; empty where there is none."""
    attempts: list[Attempt] = Field(default_factory=list)
    """Its attempts, oldest first."""
    artifacts: list[Artifact] = Field(default_factory=list)
    """Its files that are there."""


class TimelineBar(WireModel):
    """One attempt on the timeline of workers, or one official evaluation."""

    kind: str = "attempt"
    """attempt or evaluation."""
    instance_id: str
    """The instance."""
    attempt: int
    """The attempt."""
    lane: int
    """The line it is drawn on, from 0: attempts that overlap have different ones."""
    start_unix: float
    """When it began, in wall-clock seconds: its end less the durations of its phases, or when its task was submitted
    by an earlier invocation."""
    end_unix: float
    """When its row was written, or the evaluation was over."""
    durations: dict[str, float]
    """Seconds by phase, in their order; `left` is a task that had ended and was not fetched yet."""
    status: str
    """How it ended; of an evaluation, its verdict."""


class Pair(WireModel):
    """One instance that both runs have a score for, or only one of them."""

    instance_id: str
    """The instance."""
    score: float | None
    """This run's score; null when ungraded or not asked for."""
    other_score: float | None
    """The other's."""
    difference: float | None
    """This less the other; null when one is missing."""
    cost_usd: float | None
    """What this run paid for it; null when unknown."""
    other_cost_usd: float | None
    """What the other paid."""


class ComparedRun(WireModel):
    """This run against another, instance by instance."""

    other: RunFacts
    """The other run."""
    pairs: int
    """Instances that both have a score for: only these are compared."""
    mean: float | None
    """This run's mean over the pairs; null without pairs, as the next two."""
    other_mean: float | None
    """The other's."""
    mean_difference: float | None
    """This less the other."""
    better: int
    """Pairs with a higher score in this run."""
    equal: int
    """Pairs with the same score."""
    worse: int
    """Pairs with a lower score."""
    unpaired: int
    """Instances that only one of the runs has a score for."""
    money: Money
    """What this run cost."""
    other_money: Money
    """What the other cost."""
    rows: list[Pair]
    """Every instance of either."""


class RunReport(WireModel):
    """The whole document."""

    schema_: Literal["obo_bench.report.v1"] = Field("obo_bench.report.v1", alias="schema")
    """Format name."""
    obo_bench: str
    """The version that made it."""
    made_at_unix: float
    """When, in wall-clock seconds."""
    run: RunFacts
    """Which run this is."""
    ending: Ending
    """How it ended."""
    asked: list[Fact]
    """What was asked."""
    findings: list[Finding]
    """What the record proves, and what not."""
    waivers: list[str]
    """Flags and variables that overruled something; empty when there was none."""
    invocations: list[Invocation]
    """Invocations on the run root, oldest first."""
    counts: dict[str, int]
    """Instances by the status of their last row."""
    scores: Scores | None
    """The official grades; null where there are none."""
    grades: RowGrades | None = None
    """Instances by the verdicts of their rows; null where `scores` tells, or no row has a verdict."""
    money: Money
    """What it cost."""
    attempts: Attempts
    """How often instances were solved."""
    failures: list[Failure]
    """Why instances did not pass, the most frequent reason first."""
    timeline: list[TimelineBar]
    """Attempts in time."""
    instances: list[InstanceReport]
    """Every instance, in the order in which they were asked for."""
    compared: ComparedRun | None = None
    """The comparison that was asked for."""
    notes: list[str] = Field(default_factory=list)
    """What could not be read or was left out."""
