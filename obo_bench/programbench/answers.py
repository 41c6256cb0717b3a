"""What the commands answer with: the `result` of `--json` (wire formats), by `obo-bench schema COMMAND`."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.evaluation.grade_summary import GradeFigures, GradeSummary
from obo_bench.programbench.gating.gate_result import GateFigures, GateResult


class GradeAnswer(GradeFigures):
    """The figures of `grade_summary.json`, with nothing but the score of each instance."""

    schema_: Literal["obo_bench.grades.v1"] = Field("obo_bench.grades.v1", alias="schema")
    """Format name."""
    scores: dict[str, float | None]
    """By instance id, from 0 to 1; null where it is ungraded."""


class RunAnswer(WireModel):
    """What `programbench run` answers with."""

    schema_: Literal["obo_bench.run.v1"] = Field("obo_bench.run.v1", alias="schema")
    """Format name."""
    counts: dict[str, int]
    """Instances by what became of them."""
    grades: GradeAnswer | None
    """The grades; null when none were asked for, or nothing was evaluated."""


class EvalAnswer(GradeFigures):
    """What `eval` answers with."""

    schema_: Literal["obo_bench.eval.v1"] = Field("obo_bench.eval.v1", alias="schema")
    """Format name."""
    scores: dict[str, float | None]
    """By instance id, from 0 to 1; null where it is ungraded."""
    selected: list[str]
    """The instances that this invocation was asked to grade."""
    ungraded_submissions: list[str]
    """Instances that have a submission and no verdict."""
    submission_hashes: Literal["ledger", "taken_now"] | LaterWord
    """Whether a ledger vouches for the archives."""
    graded_in_another_image: list[str]
    """Instances whose evaluation used another image than their solve."""


class PrepareAnswer(WireModel):
    """What `prepare` answers with."""

    schema_: Literal["obo_bench.prepare.v1"] = Field("obo_bench.prepare.v1", alias="schema")
    """Format name."""
    run: str
    """The run that the instance belongs to: what `export` and `eval` take."""
    instance_id: str
    """The instance."""
    instance_directory: str
    """Where its files are."""
    status: str
    """Of its last ledger row: completed, blocked or failed."""
    reason_code: str
    """Of the same row."""
    error: str
    """Of the same row; empty when nothing went wrong."""
    submission_sha256: str
    """SHA-256 of the archive; empty when there is none."""
    official_eval_status: str
    """not_run, pass, fail or ungraded."""
    grade: dict[str, Any]
    """Score, reason and blame; empty without an evaluation."""


class GateAnswer(GateFigures):
    """What `programbench gate` answers with: `gate_result.json` without its tasks."""

    schema_: Literal["obo_bench.gate.v1"] = Field("obo_bench.gate.v1", alias="schema")
    """Format name."""
    gate_result: str
    """Where the whole document is."""


class GateTasksAnswer(WireModel):
    """What `programbench gate-tasks` answers with."""

    schema_: Literal["obo_bench.gate_tasks.v1"] = Field("obo_bench.gate_tasks.v1", alias="schema")
    """Format name."""
    seed: int
    """The seed that draws the same tasks again."""
    smoke_given: bool
    """Whether the smoke tasks were named, and only the unseen ones drawn."""
    catalogue_sha256: str
    """SHA-256 of what could be drawn: the JSON object of difficulty by id, keys sorted."""
    smoke: list[str]
    """The smoke tasks."""
    unseen: list[str]
    """The unseen tasks."""


def grade_answer(summary: GradeSummary) -> GradeAnswer:
    """Return the figures of a summary with the scores of its instances."""
    return GradeAnswer(**_figures(summary))


def eval_answer(summary: GradeSummary, **selection: Any) -> EvalAnswer:
    """Return the figures of a summary with its scores and what was selected."""
    return EvalAnswer(**_figures(summary), **selection)


def gate_answer(result: GateResult, path: str) -> GateAnswer:
    """Return a gate's result without its tasks."""
    kept = {name: value for name, value in result.document().items() if name not in ("schema", "tasks")}
    return GateAnswer(**kept, gate_result=path)


def _figures(summary: GradeSummary) -> dict[str, Any]:
    document = summary.document()
    scores = {iid: row["score"] for iid, row in document.pop("instances").items()}
    del document["schema"]
    return {**document, "scores": scores}
