"""`programbench run`, top to bottom: admitted, attested, solved, evaluated, concluded."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ending import refusal_record
from obo_bench.core.harness import base_harness
from obo_bench.core.ledger import Row
from obo_bench.core.manifest import Outcome
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.core.signals import untorn
from obo_bench.core.variables import PRACTICE
from obo_bench.engine.cleanroom_spec import NONCE_LABEL, RUN_LABEL
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.packaging.collection_rules import CollectionRules
from obo_bench.programbench.selection import SHUFFLE_SEED, check_selector

if TYPE_CHECKING:
    from obo_bench.programbench.context import RunContext
    from obo_bench.programbench.evaluation.grade_summary import GradeSummary
    from obo_bench.programbench.solving.schedule import Schedule

_STOPPED: Mapping[str, tuple[Outcome, ExitCode]] = {
    "stopped_provenance": ("stopped_provenance", ExitCode.STOPPED),
    "stopped_systemic": ("stopped_systemic", ExitCode.STOPPED),
    "stopped_budget": ("stopped_budget", ExitCode.BUDGET),
}
"""How a run ends that was stopped, by what stopped it."""


@dataclass(frozen=True)
class RunResult:
    """What the operator gets."""

    run_root: Path
    """The run."""
    outcome: Outcome
    """How it ended."""
    counts: dict[str, int]
    """Instances by what became of them."""
    grades: "GradeSummary | None"
    """The grade summary, if an evaluation was asked for and ran."""


def run_programbench(options: RunOptions, reporter: Reporter) -> RunResult:
    """Run the benchmark as asked; every ending is in the manifest.

    Raises UsageError for values that mean nothing, a Refusal before money is spent, Interrupted on a signal.
    """
    check_selector(options.selector)
    CollectionRules.protecting(options.protected_paths)
    with benchmark_session(admission(options)) as session, _Leftovers(session), Showing(session, reporter):
        return _body(session, options, reporter)


def admission(options: RunOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    return AdmissionRequest(
        benchmark="programbench",
        command="programbench run",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        seed=options.seed,
        fields={
            "timeout_sec": options.timeout_sec,
            "output_paths": {
                "ledger": "result_index.jsonl",
                "instance_order": "instance_order.json",
                "grade_summary": "grade_summary.json",
                "evaluation": "programbench_eval_result.json",
            },
        },
        harness={
            **base_harness(),
            "practice": os.environ.get(PRACTICE),
            "ouroboros_url": options.url,
            "dry_run": options.dry_run,
            "solve_model": options.solve_model,
            "workers": options.workers,
            "max_cost_usd": options.max_cost_usd,
            "pull": options.pull,
            "pin_digests": str(options.pin_digests) if options.pin_digests else None,
            "allow_image_findings": options.allow_image_findings,
            "redo_existing": options.redo_existing,
            "retry": list(options.retry),
            "accept_config_change": options.accept_config_change,
            "difficulty": list(options.selector.difficulty),
            "selector": {
                "filter": options.selector.filter,
                "slice": options.selector.slice,
                "shuffle": options.selector.shuffle,
                "language": list(options.selector.language),
                "instance_ids": list(options.selector.instance_ids),
                "ids_file": str(options.ids_file) if options.ids_file else None,
            },
            "limits": {"cpus": options.cpus, "memory": options.memory, "timeout_sec": options.timeout_sec},
        },
        extra={
            "eval_requested": options.evaluate,
            "official_eval_status": "not_run" if options.evaluate else "not_requested",
            "protected_paths": list(options.protected_paths),
            "shuffle": options.selector.shuffle,
            "shuffle_seed": SHUFFLE_SEED if options.selector.shuffle else None,
        },
    )


class _Leftovers:
    """Records, whatever way the body ends, which tasks may still run."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        """Begin."""

    @untorn
    def __exit__(self, *ending: object) -> None:
        """Look, and leave it in the manifest; that it cannot be told does not change how the run ended."""
        from obo_bench.programbench.leftovers.still_running import still_running

        with contextlib.suppress(OSError):
            found = [task.document() for task in still_running(self._session.run_root)]
            self._session.manifest.extra.still_running = found


def _body(session: Session, options: RunOptions, reporter: Reporter) -> RunResult:
    from obo_bench.programbench.admission.gates import pass_gates
    from obo_bench.programbench.counts import record_counts
    from obo_bench.programbench.ledger_start import take_over_ledger
    from obo_bench.programbench.shown_run import show_run
    from obo_bench.programbench.solving.image_use import ImageUse
    from obo_bench.programbench.solving.instance import run_instance
    from obo_bench.programbench.solving.scheduler import confirm_at_end, run_all

    context, chosen = pass_gates(session, options, reporter)
    with contextlib.closing(context):
        take_over_ledger(session, reporter)
        show_run(context)
        images = ImageUse(context, chosen)
        session.manifest.harness["images"] = context.images
        try:
            schedule = run_all(context, chosen, images.releasing(run_instance))
            confirm_at_end(context, schedule)
            counts = record_counts(context, ask_server=True)
        except BaseException:
            record_counts(context, ask_server=False)
            raise
        if schedule.stopped:
            _stop(session, schedule, reporter)
            return RunResult(options.run_root, session.outcome, counts, None)
        _conclude(session, options, counts)
        grades = None
        if options.evaluate and not options.dry_run:
            session.checkpoint()
            grades = _evaluate(session, context, schedule.rows)
            images.remove_rest()
    return RunResult(options.run_root, session.outcome, counts, grades)


def _stop(session: Session, schedule: "Schedule", reporter: Reporter) -> None:
    """End a run that going on with would be wrong or useless; a refusal that stopped it is recorded as such."""
    reporter.event(f"stopped: {schedule.detail}")
    session.manifest.harness["stopped"] = schedule.detail
    session.conclude(*_STOPPED[schedule.stopped])
    if schedule.refusal is not None:
        reporter.event(f"what to do: {schedule.refusal.remedy}")
        record = refusal_record(schedule.refusal)
        session.manifest.extra.refusal = record.model_copy(update={"exit_code": int(ExitCode.STOPPED)})


def _conclude(session: Session, options: RunOptions, counts: dict[str, int]) -> None:
    if counts["failed"] or counts["not_attempted"]:
        session.conclude("instances_failed", ExitCode.FAILED)
    else:
        session.conclude("dry_run" if options.dry_run else "completed", ExitCode.OK)


def _evaluate(session: Session, context: "RunContext", rows: dict[str, Row]) -> "GradeSummary":
    """Grade with the official evaluator; an ungraded submission outranks failed instances (exit 6)."""
    from obo_bench.programbench.context import evaluator_environment
    from obo_bench.programbench.evaluation.accounts import read_accounts
    from obo_bench.programbench.evaluation.evaluation_request import EvaluationRequest
    from obo_bench.programbench.evaluation.evaluator import evaluate_submissions
    from obo_bench.programbench.evaluation.evaluator_settings import INSTANCE_LIMIT_SEC, container_cpus
    from obo_bench.programbench.evaluation.graded_rows import append_grades, grade_totals

    run_labels = {RUN_LABEL: session.run_root.name, NONCE_LABEL: context.nonce}
    requested_ids = tuple(session.manifest.requested_task_ids or ())
    outcome = evaluate_submissions(
        EvaluationRequest(
            run_root=session.run_root,
            requested_ids=requested_ids,
            submissions={name: row.submission_sha256 for name, row in rows.items() if row.submission_sha256},
            docker_cpus=container_cpus(None, os.environ, context.engine.cpus),
            timeout_sec=INSTANCE_LIMIT_SEC,
            environ=evaluator_environment(context.engine, os.environ),
            # The role keeps the evaluator's sweep away from cleanrooms of the same run.
            labels={**run_labels, "obo-bench.role": "evaluator"},
            invocation=session.invocation,
            accounts=read_accounts(session.run_root, requested_ids),
        ),
        context.reporter,
    )
    append_grades(session.ledger, rows, outcome.summary)
    session.manifest.official_command = list(outcome.command)
    session.manifest.harness |= {"evaluator": dict(outcome.evaluator), "evaluation_images": dict(outcome.images)}
    failed = outcome.status not in ("completed", "nothing_to_evaluate") or bool(outcome.ungraded_submissions)
    session.manifest.extra.official_eval_status = "error" if failed else "completed"
    session.manifest.extra.grades = grade_totals(session.run_root, outcome.summary)
    if failed:
        session.conclude("official_eval_error", ExitCode.EVALUATION)
    return outcome.summary
