"""Runs the official evaluation of a run root and grades it: `pass`, `fail` or `ungraded` for every requested instance.

Only what an evaluator process of ours wrote before it ended normally is graded; its exit status alone proves nothing.
Writes `grade_summary.json`, `programbench_eval_result.json` and the logs under `eval/<invocation>/`.
"""

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any

from obo_bench.core.host_load import LOAD_RECORD_NAME
from obo_bench.core.load_watch import LoadWatch
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceEnded, RunChange
from obo_bench.core.signals import untorn
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled
from obo_bench.programbench.evaluation.engine_witness import EngineWitness
from obo_bench.programbench.evaluation.evaluation_cases import (
    Bench,
    Case,
    earlier_row,
    earlier_rows,
    give_up,
    prepare_case,
)
from obo_bench.programbench.evaluation.evaluation_record import EvaluationRecord
from obo_bench.programbench.evaluation.evaluation_request import EvaluationOutcome, EvaluationRequest
from obo_bench.programbench.evaluation.evaluator_program import find_evaluator, preflight_evaluator
from obo_bench.programbench.evaluation.grade_summary import (
    EvaluationStatus,
    GradeSummary,
    InstanceGrade,
    build_grade_summary,
    write_grade_summary,
)
from obo_bench.programbench.evaluation.graded_image import solved_images
from obo_bench.programbench.evaluation.grading import ungraded
from obo_bench.programbench.evaluation.instance_evaluation import DISTRUST, Desk, evaluate_instance
from obo_bench.programbench.evaluation.official import run_official
from obo_bench.programbench.evaluation.official_output import WIDE_TABLE
from obo_bench.programbench.evaluation.verdicts import Verdict

__all__ = ["EvaluationOutcome", "EvaluationRequest", "evaluate_submissions", "preflight_evaluator"]

_ROOT_LABEL = "obo-bench.evaluated"
_INFO_TIMEOUT_SEC = 300.0
_FROM_BAD_TO_GOOD: Sequence[EvaluationStatus] = ("interrupted", "evaluator_failed", "timed_out", "completed")


@dataclass
class _Evaluation:
    """The state of one evaluation."""

    request: EvaluationRequest
    reporter: Reporter
    cases: list[Case]
    earlier: Mapping[str, InstanceGrade]
    record: EvaluationRecord
    bench: Bench | None = None
    status: EvaluationStatus = "completed"
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def pending(self) -> list[Case]:
        return [case for case in self.cases if case.grade is None]


def evaluate_submissions(request: EvaluationRequest, reporter: Reporter) -> EvaluationOutcome:
    """Evaluate and grade; see the module's contract.

    An exception that passes through (Ctrl-C, a signal) ends the evaluators, removes their containers and images,
    leaves a summary with the status `interrupted` and goes on; what had been finished before stays graded. Raises
    ValueError without labels, OSError when the run root cannot be written.
    """
    if not request.labels:
        raise ValueError("an evaluation needs labels: they tell its containers from those of others")
    process_redactor().learn_environment(request.environ)
    record = EvaluationRecord(request.run_root, request.invocation)
    earlier = earlier_rows(request.run_root)
    evaluation = _Evaluation(_labelled(request), reporter, _cases(request, earlier), earlier, record)
    try:
        _prepare(evaluation)
        _evaluate(evaluation)
    except BaseException as error:
        evaluation.status = "evaluator_failed" if isinstance(error, Exception) else "interrupted"
        _give_up(evaluation)
        raise
    summary = _publish(evaluation)
    try:
        _show_official_table(evaluation)
    finally:
        record.write()
    return _outcome(evaluation, summary)


def _labelled(request: EvaluationRequest) -> EvaluationRequest:
    """Put the path among the labels: a copy of a run has its nonce, and may be evaluated at the same time."""
    path = hashlib.sha256(os.fsencode(request.run_root.resolve())).hexdigest()[:16]
    return replace(request, labels={**request.labels, _ROOT_LABEL: path})


def _cases(request: EvaluationRequest, earlier: Mapping[str, InstanceGrade]) -> list[Case]:
    """Count on from the earlier evaluations, whatever becomes of this one."""
    chosen, cases = request.selected_ids, []
    for iid in dict.fromkeys(request.requested_ids):
        sha256 = request.submissions.get(iid)
        known = earlier_row(earlier, iid, sha256)
        selected = chosen is None or iid in chosen
        cases.append(Case(iid, sha256, selected=selected, attempts=known.attempts if known else 0))
    return cases


def _outcome(evaluation: _Evaluation, summary: GradeSummary) -> EvaluationOutcome:
    ungraded_ids = [
        case.instance_id
        for case in evaluation.cases
        if case.selected
        and case.submission_sha256 is not None
        and case.grade
        and case.grade.verdict is Verdict.UNGRADED
    ]
    bench = evaluation.bench
    return EvaluationOutcome(
        status=evaluation.status,
        summary=summary,
        ungraded_submissions=tuple(ungraded_ids),
        command=evaluation.record.command,
        evaluated=evaluation.record.instances,
        evaluator=bench.evaluator.facts() if bench else {},
        images=_images(evaluation),
    )


def _images(evaluation: _Evaluation) -> Mapping[str, Mapping[str, Any]]:
    return {
        case.instance_id: case.image.facts()
        for case in evaluation.cases
        if case.selected and case.image is not None and case.image.identity is not None
    }


def _prepare(evaluation: _Evaluation) -> None:
    request = evaluation.request
    try:
        evaluator = find_evaluator(request.environ)
    except PreflightRefused as refusal:
        refusal.settle()
        evaluation.status = "evaluator_failed"
        for case in evaluation.cases:
            submitted = case.submission_sha256 is not None
            case.grade = ungraded("evaluator_unavailable", refusal.message) if submitted else ungraded("no_submission")
        return
    evaluation.bench = Bench(request, evaluator, evaluation.earlier, solved_images(request.run_root))
    for case in evaluation.cases:
        prepare_case(evaluation.bench, case)
    if not any(case.submission_sha256 is not None for case in evaluation.cases):
        evaluation.status = "nothing_to_evaluate"


def _evaluate(evaluation: _Evaluation) -> None:
    pending, bench, request = evaluation.pending, evaluation.bench, evaluation.request
    if bench is None or not pending:
        return
    evaluation.reporter.update(RunChange(stage="evaluating", total=len(pending), workers=request.workers))
    evaluation.reporter.event(f"official evaluation of {len(pending)} submission(s)")
    docker = bench.evaluator.docker
    # An evaluation that was killed has left what it had at work; the run's lock says that nobody uses it.
    _sweep(evaluation, docker)
    load_record = request.run_root / "eval" / request.invocation / LOAD_RECORD_NAME
    with EngineWitness(docker, request.environ, request.labels) as witness, LoadWatch(load_record):
        desk = Desk(bench, evaluation.record, witness, evaluation.reporter, evaluation.stop)
        desk.plan()
        statuses = list(_run_all(evaluation, desk, pending))
    _sweep(evaluation, docker)
    evaluation.status = next(status for status in _FROM_BAD_TO_GOOD if status in statuses)


def _run_all(evaluation: _Evaluation, desk: Desk, pending: Sequence[Case]) -> Iterator[EvaluationStatus]:
    """Evaluate `request.workers` instances at a time; on every way out no evaluator is left running."""
    with ThreadPoolExecutor(evaluation.request.workers) as pool, _all_ended(evaluation, pool):
        futures = {pool.submit(evaluate_instance, desk, case): case for case in pending}
        for number, future in enumerate(as_completed(futures), 1):
            yield future.result()
            grade = futures[future].grade
            if grade is not None:
                text = f"{grade.verdict}: {grade.reason} ({number}/{len(pending)})"
                evaluation.reporter.update(InstanceEnded(futures[future].instance_id, grade.verdict))
                evaluation.reporter.event(text, futures[future].instance_id)


@contextlib.contextmanager
def _all_ended(evaluation: _Evaluation, pool: ThreadPoolExecutor) -> Iterator[None]:
    """End what is at work when the block is left by an exception."""
    try:
        yield
    except BaseException:
        _end_all(evaluation, pool)
        raise


@untorn
def _end_all(evaluation: _Evaluation, pool: ThreadPoolExecutor) -> None:
    """Each worker ends its own process and removes its containers and images; a second signal does not tear that."""
    evaluation.stop.set()
    pool.shutdown(wait=True, cancel_futures=True)


def _sweep(evaluation: _Evaluation, docker: str) -> None:
    request = evaluation.request
    for problem in remove_labelled(docker, request.environ, request.labels, 0.0):
        evaluation.reporter.event(f"removing the evaluator's containers and images: {problem}")


@untorn
def _give_up(evaluation: _Evaluation) -> None:
    """Leave what is pending ungraded after an abnormal end, and publish what is finished."""
    for case in evaluation.pending:
        if evaluation.bench is not None:
            give_up(evaluation.bench, case, DISTRUST[evaluation.status])
    _publish(evaluation)


def _publish(evaluation: _Evaluation) -> GradeSummary:
    """Write the summary, and what is known of the commands so far."""
    request, bench = evaluation.request, evaluation.bench
    redact = process_redactor().text
    summary = build_grade_summary(
        invocation=request.invocation,
        created_at_unix=time.time(),
        evaluation_status=evaluation.status,
        evaluator_version=bench.evaluator.version if bench else None,
        benchmark_ids=[p.parent.name for p in bench.evaluator.tasks_dir.glob("*/task.yaml")] if bench else [],
        grades={case.instance_id: case.grade for case in evaluation.cases if case.grade is not None},
        instances={case.instance_id: case.row(redact) for case in evaluation.cases},
        accounts=request.accounts,
    )
    write_grade_summary(request.run_root, summary)
    evaluation.record.write()
    return summary


def _show_official_table(evaluation: _Evaluation) -> None:
    """Record `programbench info`; its table is for the reader and decides nothing."""
    request = evaluation.request
    if evaluation.bench is None:
        return
    argv, returncode = [*evaluation.bench.evaluator.command, "info", str(request.run_root)], None
    environ = {**request.environ, **WIDE_TABLE}
    try:
        logs, stop = evaluation.record.logs("info"), evaluation.stop
        returncode = run_official(argv, environ, logs, _INFO_TIMEOUT_SEC, stop).returncode
    except OSError as error:
        evaluation.reporter.event(f"`programbench info` cannot be started: {error}")
    evaluation.record.note_info(argv, returncode)
