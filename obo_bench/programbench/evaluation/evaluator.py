"""Runs the official evaluation of a run root and grades it: `pass`, `fail` or `ungraded` for every requested instance.

Only what an evaluator process of ours wrote before it ended normally is graded; its exit status alone proves nothing.
Writes `grade_summary.json`, `programbench_eval_result.json` and the logs under `eval/<invocation>/`.
"""

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.redact_file import redact_file
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled, write_wrapper
from obo_bench.programbench.evaluation.engine_witness import EngineWitness
from obo_bench.programbench.evaluation.eval_files import eval_json_path
from obo_bench.programbench.evaluation.evaluation_cases import (
    Bench,
    Case,
    prepare_case,
    settle_distrusted,
    settle_fresh,
)
from obo_bench.programbench.evaluation.evaluation_request import EvaluationOutcome, EvaluationRequest
from obo_bench.programbench.evaluation.grade_summary import (
    EvaluationStatus,
    GradeSummary,
    build_grade_summary,
    write_grade_summary,
)
from obo_bench.programbench.evaluation.grading import ungraded
from obo_bench.programbench.evaluation.official import (
    DOCKER_VARIABLE,
    EvaluatorIdentity,
    ProcessEnd,
    identify_evaluator,
    official_argv,
    preflight_evaluator,
    run_official,
)
from obo_bench.programbench.evaluation.official_output import NOT_A_TERMINAL, WIDE_TABLE, exceptions_told, tail_text
from obo_bench.programbench.evaluation.verdicts import Verdict

__all__ = ["EvaluationOutcome", "EvaluationRequest", "EvaluatorIdentity", "evaluate_submissions", "preflight_evaluator"]

EVAL_RESULT_NAME = "programbench_eval_result.json"
_INFO_TIMEOUT_SEC = 300.0
_QUIET_AFTER_KILL_SEC = 3.0

_DISTRUST: Mapping[EvaluationStatus, str] = {
    "evaluator_failed": "evaluator_failed",
    "timed_out": "evaluator_timed_out",
    "interrupted": "evaluator_interrupted",
}


@dataclass
class _Evaluation:
    """The state of one evaluation."""

    request: EvaluationRequest
    reporter: Reporter
    cases: list[Case]
    bench: Bench | None = None
    status: EvaluationStatus = "completed"
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def pending(self) -> list[Case]:
        return [case for case in self.cases if case.grade is None]


def evaluate_submissions(request: EvaluationRequest, reporter: Reporter) -> EvaluationOutcome:
    """Evaluate and grade; see the module's contract.

    An exception that passes through (Ctrl-C, a signal) ends the evaluator, removes its containers and images,
    leaves a summary with the status `interrupted` and goes on. Raises ValueError without labels, OSError when the
    run root cannot be written.
    """
    if not request.labels:
        raise ValueError("an evaluation needs labels: they tell its containers from those of others")
    cases = [Case(iid, request.submissions.get(iid)) for iid in dict.fromkeys(request.requested_ids)]
    evaluation = _Evaluation(request, reporter, cases)
    process_redactor().learn_environment(request.environ)
    _logs(request, "eval")[0].parent.mkdir(parents=True, exist_ok=True)
    try:
        _prepare(evaluation)
        _evaluate(evaluation)
    except BaseException as error:
        evaluation.status = "evaluator_failed" if isinstance(error, Exception) else "interrupted"
        _distrust(evaluation)
        _publish(evaluation)
        raise
    summary = _publish(evaluation)
    try:
        _show_official_table(evaluation)
    finally:
        _write_record(evaluation)
    return _outcome(evaluation, summary)


def _outcome(evaluation: _Evaluation, summary: GradeSummary) -> EvaluationOutcome:
    rows = summary.instances
    return EvaluationOutcome(
        status=evaluation.status,
        summary=summary,
        ungraded_submissions=tuple(
            iid for iid, r in rows.items() if r.submission_sha256 is not None and r.verdict is Verdict.UNGRADED
        ),
        command=tuple(evaluation.record.get("eval", {}).get("cmd", ())),
    )


def _prepare(evaluation: _Evaluation) -> None:
    request = evaluation.request
    try:
        evaluator = identify_evaluator(request.environ)
    except PreflightRefused as refusal:
        refusal.settle()
        evaluation.status = "evaluator_failed"
        for case in evaluation.cases:
            submitted = case.submission_sha256 is not None
            case.grade = ungraded("evaluator_unavailable", refusal.message) if submitted else ungraded("no_submission")
        return
    evaluation.bench = Bench(request.run_root, request.invocation, request.environ, evaluator)
    for case in evaluation.cases:
        prepare_case(evaluation.bench, case)
    if not any(case.submission_sha256 for case in evaluation.cases):
        evaluation.status = "nothing_to_evaluate"


def _evaluate(evaluation: _Evaluation) -> None:
    pending, bench = evaluation.pending, evaluation.bench
    if bench is None or not pending:
        evaluation.record["eval"] = {"cmd": [], "returncode": None, "stdout": "", "stderr": ""}
        return
    started = time.time()
    for case in pending:
        case.attempts += 1
        case.started_at_unix = started
    evaluation.reporter.event(f"official evaluation of {len(pending)} submissions")
    with EngineWitness(bench.evaluator.docker, evaluation.request.environ, evaluation.request.labels) as witness:
        evaluation.status = _run_eval(evaluation, bench, pending)
    if evaluation.status != "completed":
        _distrust(evaluation)
        return
    told = exceptions_told(*_logs(evaluation.request, "eval"), [case.instance_id for case in pending])
    for case in pending:
        iid = case.instance_id
        settle_fresh(bench, case, told.get(iid), container_lost=witness.lost(iid))


def _run_eval(evaluation: _Evaluation, bench: Bench, pending: Sequence[Case]) -> EvaluationStatus:
    """Run `programbench eval` on exactly the pending instances; on every way out nothing of it is left running."""
    request, docker = evaluation.request, bench.evaluator.docker
    argv = _eval_argv(request, [case.instance_id for case in pending])
    evaluation.record["eval"] = {"cmd": argv, "returncode": None, "stdout": "", "stderr": ""}
    quiet_sec = _QUIET_AFTER_KILL_SEC
    with tempfile.TemporaryDirectory(prefix="obo-bench-") as directory:
        wrapper = Path(directory) / "docker"
        write_wrapper(wrapper, docker, request.labels)
        try:
            end = run_official(
                argv,
                _child_environ(request, wrapper),
                _logs(request, "eval"),
                request.timeout_sec,
                _Progress(evaluation, pending),
            )
            evaluation.record["eval"]["returncode"] = end.returncode
            quiet_sec = 0.0 if end.returncode == 0 else quiet_sec
        except OSError as error:
            evaluation.reporter.event(f"the official evaluator cannot be started: {error}")
            end = ProcessEnd(returncode=1, timed_out=False)
        finally:
            for problem in remove_labelled(docker, request.environ, request.labels, quiet_sec):
                evaluation.reporter.event(f"removing the evaluator's containers and images: {problem}")
            evaluation.record["eval"] |= _tails(_logs(request, "eval"))
    return _status_of(end)


def _status_of(end: ProcessEnd) -> EvaluationStatus:
    if end.timed_out:
        return "timed_out"
    if end.returncode < 0 or end.returncode == 130:
        return "interrupted"
    return "evaluator_failed" if end.returncode else "completed"


def _eval_argv(request: EvaluationRequest, instance_ids: Sequence[str]) -> list[str]:
    chosen = "^(?:" + "|".join(re.escape(iid) for iid in instance_ids) + ")$"
    options = ["--workers", str(request.workers), "--docker-cpus", str(request.docker_cpus), "--filter", chosen]
    return official_argv("eval", str(request.run_root), *options)


def _child_environ(request: EvaluationRequest, wrapper: Path) -> dict[str, str]:
    kept = {name: value for name, value in request.environ.items() if name not in NOT_A_TERMINAL}
    ours = {DOCKER_VARIABLE: str(wrapper), "PROGRAMBENCH_DOCKER_CPUS": str(request.docker_cpus)}
    return {**kept, **WIDE_TABLE, **ours}


class _Progress:
    """Reports every instance whose result appears while the evaluator runs."""

    def __init__(self, evaluation: _Evaluation, pending: Sequence[Case]) -> None:
        self._evaluation = evaluation
        self._waiting = [case.instance_id for case in pending]
        self._total = len(pending)

    def __call__(self) -> None:
        for iid in list(self._waiting):
            if eval_json_path(self._evaluation.request.run_root, iid).exists():
                self._waiting.remove(iid)
                self._evaluation.reporter.event(f"evaluated ({self._total - len(self._waiting)}/{self._total})", iid)


def _distrust(evaluation: _Evaluation) -> None:
    """Leave what is pending ungraded after an abnormal end."""
    for case in evaluation.pending:
        if evaluation.bench is not None:
            settle_distrusted(evaluation.bench, case, _DISTRUST[evaluation.status])


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
    )
    write_grade_summary(request.run_root, summary)
    _write_record(evaluation)
    for iid, row in summary.instances.items():
        evaluation.reporter.event(f"{row.verdict}: {row.reason}", iid)
    return summary


def _show_official_table(evaluation: _Evaluation) -> None:
    """Record `programbench info`; its table is for the reader and decides nothing."""
    request = evaluation.request
    if evaluation.bench is None:
        return
    argv, logs = official_argv("info", str(request.run_root)), _logs(request, "info")
    evaluation.record["info"] = {"cmd": argv, "returncode": None}
    try:
        end = run_official(argv, {**request.environ, **WIDE_TABLE}, logs, _INFO_TIMEOUT_SEC, lambda: None)
        evaluation.record["info"]["returncode"] = end.returncode
    except OSError as error:
        evaluation.reporter.event(f"`programbench info` cannot be started: {error}")
    evaluation.record["info"] |= _tails(logs)


def _write_record(evaluation: _Evaluation) -> None:
    record = process_redactor().document(evaluation.record)
    write_json(evaluation.request.run_root / EVAL_RESULT_NAME, record)


def _logs(request: EvaluationRequest, command: str) -> tuple[Path, Path]:
    directory = request.run_root / "eval" / request.invocation
    return directory / f"{command}.stdout.log", directory / f"{command}.stderr.log"


def _tails(logs: tuple[Path, Path]) -> dict[str, str]:
    """Take the secrets out of the logs, now that nobody writes them any more, and return their ends."""
    for log in logs:
        redact_file(log, process_redactor())
    return {"stdout": tail_text(logs[0]), "stderr": tail_text(logs[1])}
