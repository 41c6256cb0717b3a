"""`gate_result.json`: the verdict of a gate with every pair that it rests on (wire format)."""

from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.host_load import HostLoad, LoadRecord
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.gating.task_list import Group

GATE_RESULT_NAME = "gate_result.json"

GateVerdict = Literal["GO", "NO-GO", "INCONCLUSIVE"]
LoadStatus = Literal["ok", "overloaded", "unknown"]
GateReasonCode = Literal[
    "tasks_without_score",
    "too_few_pairs",
    "baseline_shares_no_task",
    "host_overloaded",
    "below_reference",
    "below_baseline",
]


class _Frozen(WireModel):
    model_config = ConfigDict(frozen=True)


class GateReason(_Frozen):
    """One thing that speaks against a GO."""

    code: GateReasonCode | LaterWord
    """What it is."""
    message: str
    """The same in words, with its figures."""
    remedy: str = ""
    """What can be done about it; empty where that is the run itself."""

    @property
    def text(self) -> str:
        """Code and words on one line, without the remedy."""
        return f"{self.code}: {self.message}"


class GateInput(_Frozen):
    """One file that the verdict rests on."""

    role: str
    """run-manifest, grade-summary, reference, baseline, or the option that named a list of tasks."""
    path: str
    """Where it was."""
    format: str
    """What its content turned out to be: run_manifest, grade_summary, score_json, eval_json, csv or ids."""
    sha256: str
    """SHA-256 of the bytes that were read; of `eval_json`: of the lines `id sha256` of the files, sorted by id."""


class TaskDraw(_Frozen):
    """A draw that anybody can repeat."""

    seed: int
    """Its seed."""
    smoke_given: bool
    """Whether the smoke tasks were named, and only the unseen ones drawn."""
    catalogue_sha256: str
    """SHA-256 of what could be drawn: the JSON object of difficulty by id, keys sorted."""


class TaskScore(_Frozen):
    """The official score of one task."""

    score: float
    """From 0 to 1."""
    passed: int | None = None
    """Tests passed; null where only the score is known."""
    counted: int | None = None
    """Tests that count; null likewise."""
    resolved: bool
    """Whether the score is exactly 1."""


class GatedTask(_Frozen):
    """One task of the list: its pair of scores, or why there is none."""

    instance_id: str
    """The task."""
    group: Group | LaterWord
    """smoke, unseen, or listed where the list makes no difference."""
    run: TaskScore | None
    """The run's score; null where it has none."""
    reference: TaskScore | None
    """The reference's score; null where it has none."""
    baseline: TaskScore | None = None
    """The baseline's score; null where it has none, or there is no baseline."""
    difference: float | None
    """Run less reference; null without a pair."""
    verdict: str
    """The grade's pass, fail or ungraded; not_requested where the run was not asked for the task."""
    reason: str
    """Why; foreign text where there is no submission."""
    counted_as_zero: bool = False
    """Whether the run's score is 0 because its agent failed to submit anything."""
    degraded: bool | None = None
    """Whether the solve was not clean (provider failure, spent budget, dead executor); null where nothing tells."""
    solve_attempts: int | None = None
    """Attempts that were paid for; null where nothing tells."""
    repeats_undeclared: int | None = None
    """Attempts that nothing announces: more than 0 may hide a best-of-N; null where nothing tells."""
    submission_sha256: str | None = None
    """SHA-256 of the graded archive; null without one."""
    evaluator_version: str | None = None
    """The programbench package that graded it; null when none did."""
    tests_digest: str | None = None
    """Digest of the tests it was graded with; null when it was not."""
    same_tests: bool | None = None
    """Whether run and reference count the same (number of) tests; null where that cannot be told."""


class BootstrapInterval(_Frozen):
    """Percentile interval of the mean difference over resampled tasks."""

    low: float
    """Its lower end."""
    high: float
    """Its upper end."""
    confidence: float
    """How many of the resampled means lie within."""
    resamples: int
    """How often the tasks were resampled."""
    seed: int
    """Seed of Python's `random.Random`, of which only `random()` is used."""


class Comparison(_Frozen):
    """The run against another system, on the tasks that both have a score for."""

    pairs: int
    """How many tasks those are."""
    run_mean: float | None
    """Mean of the run; null without a pair."""
    other_mean: float | None
    """Mean of the other; null likewise."""
    mean_difference: float | None
    """Run less other; null likewise. The decision compares the exact fractions, not these roundings of them."""
    at_least: bool | None
    """Whether the run's mean is at least the other's, exactly; null likewise."""
    effect_size_dz: float | None
    """Cohen's d_z of the paired differences; null for fewer than two, or where all differences are equal."""
    interval: BootstrapInterval | None
    """For information, it decides nothing; null for fewer than two pairs."""
    better: int
    """Pairs in which the run is better."""
    equal: int
    """Pairs in which both are equal."""
    worse: int
    """Pairs in which the run is worse."""
    both_resolved: int
    """Pairs that both resolved."""
    only_run_resolved: int
    """Pairs that only the run resolved."""
    only_other_resolved: int
    """Pairs that only the other resolved."""
    neither_resolved: int
    """Pairs that nobody resolved."""


class GateLoad(_Frozen):
    """How busy the host was."""

    status: LoadStatus | LaterWord
    """While the compared grades were made: overloaded in any evaluation; else unknown where one recorded nothing."""
    evaluations: dict[str, LoadRecord] = Field(default_factory=dict)
    """What the evaluations recorded that made the grades, by their invocation."""
    unrecorded: list[str] = Field(default_factory=list)
    """Invocations of those that recorded nothing."""
    at_gate: HostLoad
    """When the gate ran; for information."""


class GateFigures(_Frozen):
    """The verdict without the tasks; the formats that hold it add them, or say where they are."""

    schema_: str = Field(alias="schema")
    """Format name."""
    invocation: str
    """The invocation of the gate, as in its manifest."""
    created_at_unix: float
    """When it was written, in wall-clock seconds."""
    run_id: str
    """The run: name of its directory."""
    run_root: str
    """Its directory."""
    run_invocation: str
    """The invocation in the run's manifest."""
    run_outcome: str
    """The outcome in the run's manifest."""
    verdict: GateVerdict | LaterWord
    """GO: the campaign may be paid for. NO-GO: it should not. INCONCLUSIVE: nothing can be said."""
    reasons: list[GateReason]
    """What speaks against a GO; empty for one."""
    notices: list[str]
    """What a reader should know besides."""
    min_pairs: int
    """Pairs with the reference that were demanded."""
    draw: TaskDraw | None
    """How the tasks were drawn; null for given ones."""
    reference: Comparison
    """The run against the reference."""
    baseline: Comparison | None
    """The run against the baseline; null when none was named."""
    load: GateLoad
    """How busy the host was."""
    inputs: list[GateInput]
    """Every file that was read, bound by its hash."""


class GateResult(GateFigures):
    """The whole document."""

    schema_: Literal["obo_bench.gate_result.v1"] = Field("obo_bench.gate_result.v1", alias="schema")
    """Format name."""
    tasks: list[GatedTask]
    """Every task of the list, in its order."""
