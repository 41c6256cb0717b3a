"""Puts the run's grade of each task beside the scores of reference and baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.programbench.gating.comparison import Pair
from obo_bench.programbench.gating.evaluation_load import evaluation_load
from obo_bench.programbench.gating.gate_result import GatedTask, TaskScore
from obo_bench.programbench.gating.gated_run import GatedRun
from obo_bench.programbench.gating.score_grades import GradedTask
from obo_bench.programbench.gating.scores import Score, ScoreTable
from obo_bench.programbench.gating.task_list import TaskList

_ENDED = ("completed", "instances_failed")
"""Outcomes of a run that came to its end."""


@dataclass(frozen=True)
class Board:
    """All scores of the listed tasks."""

    tasks: TaskList
    """The list."""
    run: GatedRun
    """The run."""
    told: Mapping[str, GradedTask]
    """What its grades say of each task."""
    reference: ScoreTable
    """The reference."""
    baseline: ScoreTable | None
    """The baseline."""

    def pairs(self, other: ScoreTable) -> list[Pair]:
        """Return the pairs of the tasks that both have a score for."""
        scored = ((task.score, other.scores.get(iid)) for iid, task in self.told.items())
        return [Pair(run, score) for run, score in scored if run is not None and score is not None]

    def rows(self) -> list[GatedTask]:
        """Return every task as it is written."""
        return [self._row(iid) for iid in self.tasks.groups]

    def _row(self, iid: str) -> GatedTask:
        told, grade = self.told[iid], self.run.grade(iid)
        reference, baseline = self.reference.scores.get(iid), (self.baseline.scores if self.baseline else {}).get(iid)
        pair = Pair(told.score, reference) if told.score is not None and reference is not None else None
        return GatedTask(
            instance_id=iid,
            group=self.tasks.groups[iid],
            run=_written(told.score),
            reference=_written(reference),
            baseline=_written(baseline),
            difference=float(pair.difference) if pair else None,
            verdict=str(grade.verdict) if grade else "not_requested",
            reason=told.reason,
            counted_as_zero=told.counted_as_zero,
            submission_sha256=grade.submission_sha256 if grade else None,
            evaluator_version=grade.evaluator_version if grade else None,
            tests_digest=grade.tests_digest if grade else None,
            same_tests=_same_tests(pair) if pair else None,
            **_account(grade.account if grade else None),
        )


def board(tasks: TaskList, run: GatedRun, reference: ScoreTable, baseline: ScoreTable | None) -> Board:
    """Return the scores of the listed tasks; each archive of the run is hashed once, here."""
    return Board(tasks, run, {iid: run.task(iid) for iid in tasks.groups}, reference, baseline)


def notices(found: Board, rows: Sequence[GatedTask]) -> list[str]:
    """Return what a reader of the verdict should know besides."""
    others = [other for other in (found.reference, found.baseline) if other is not None]
    return [*_of_run(found.run), *_of_rows(rows), *(told for other in others for told in _of_other(found, other))]


def _of_run(run: GatedRun) -> Iterator[str]:
    if run.outcome not in _ENDED:
        yield f"the manifest of the run tells the outcome {run.outcome!r}"
    if run.summary.evaluation_status != "completed":
        yield f"the last evaluation ended as {run.summary.evaluation_status!r}"


def _of_rows(rows: Sequence[GatedTask]) -> Iterator[str]:
    counted = {
        "did not submit anything because the agent failed, counted as 0": [row.counted_as_zero for row in rows],
        "come from a solve that was not clean (degraded)": [bool(row.degraded) for row in rows],
        "were solved again without announcement (best-of-N?)": [bool(row.repeats_undeclared) for row in rows],
        "were graded with other tests than the reference": [row.same_tests is False for row in rows],
        "have no score in the reference": [row.reference is None for row in rows],
    }
    return (f"{sum(hits)} of {len(rows)} task(s) {what}" for what, hits in counted.items() if any(hits))


def _of_other(found: Board, other: ScoreTable) -> Iterator[str]:
    role = other.source.role
    why = [f"{iid} ({other.absent[iid]})" for iid in found.tasks.groups if iid in other.absent]
    if why:
        yield f"the {role} tells why it has no score: {', '.join(why)}"
    place = Path(other.source.path).parent
    if other.source.format == "grade_summary" and evaluation_load(place, other.scores).status == "overloaded":
        yield f"the {role} was evaluated on an overloaded host: its scores may be too low"


def _account(account: InstanceAccount | None) -> dict[str, bool | int]:
    if account is None:
        return {}
    return {
        "degraded": account.degraded,
        "solve_attempts": account.solve_attempts,
        "repeats_undeclared": account.repeats_undeclared,
    }


def _written(score: Score | None) -> TaskScore | None:
    if score is None:
        return None
    return TaskScore(score=float(score.value), passed=score.passed, counted=score.counted, resolved=score.resolved)


def _same_tests(pair: Pair) -> bool | None:
    run, reference = pair.run, pair.other
    if run.counted is None or reference.counted is None:
        return None
    if run.tests_digest and reference.tests_digest and run.tests_digest != reference.tests_digest:
        return False
    return run.counted == reference.counted
