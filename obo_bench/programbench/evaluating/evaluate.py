"""`programbench eval`, top to bottom: admitted, looked at, evaluated, recorded.

The manifest is `eval/run_manifest.json` in the run, whose own one stays as it is; the lock is the run's own, so that
nobody solves into it meanwhile.
"""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.harness import base_harness
from obo_bench.core.ids_file import read_ids
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.programbench.evaluating.options import EvalOptions
from obo_bench.programbench.selection import check_selector

if TYPE_CHECKING:
    from obo_bench.programbench.evaluating.submissions import Submissions
    from obo_bench.programbench.evaluation.evaluation_request import EvaluationOutcome
    from obo_bench.programbench.evaluation.grade_summary import GradeSummary

_MOST_TOLD = 20
"""Directories that are named on the screen."""


@dataclass(frozen=True)
class EvalResult:
    """What the operator gets."""

    summary: "GradeSummary"
    """The grades of the whole run."""
    selected: tuple[str, ...]
    """What was to be evaluated now."""
    ungraded: tuple[str, ...]
    """Which of these have a submission and no verdict."""
    unvouched: tuple[str, ...]
    """Instances for whose archive no ledger vouches."""
    other_images: tuple[str, ...]
    """Instances that were graded in another image than the one they were solved in."""


def evaluate_run(options: EvalOptions, reporter: Reporter) -> EvalResult:
    """Grade what a run holds; every ending is in the manifest.

    Raises UsageError for values that mean nothing, a Refusal before anything is evaluated, Interrupted on a signal.
    """
    check_selector(options.selector)
    with benchmark_session(admission(options)) as session, Showing(session, reporter):
        return _body(session, options, reporter)


def admission(options: EvalOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    return AdmissionRequest(
        benchmark="programbench",
        command="programbench eval",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        manifest_name=f"eval/{MANIFEST_NAME}",
        seed=SeedDemands(gated=False),
        fields={
            "timeout_sec": options.instance_limit_sec,
            "output_paths": {
                "ledger": "result_index.jsonl",
                "grade_summary": "grade_summary.json",
                "evaluation": "programbench_eval_result.json",
            },
        },
        harness={
            **base_harness(),
            "workers": options.workers,
            "branch_workers": options.branch_workers,
            "force": options.force,
            "pin_digests": str(options.pin_digests) if options.pin_digests else None,
            "selector": {
                "filter": options.selector.filter,
                "slice": options.selector.slice,
                "instance_ids": list(options.selector.instance_ids),
                "ids_file": str(options.ids_file) if options.ids_file else None,
            },
            "limits": {"docker_cpus": options.docker_cpus, "instance_sec": options.instance_limit_sec},
        },
        extra={"eval_requested": True, "official_eval_status": "not_run"},
    )


def _body(session: Session, options: EvalOptions, reporter: Reporter) -> EvalResult:
    from obo_bench.programbench.evaluating.engine import find_engine
    from obo_bench.programbench.evaluating.grades_at_stake import require_replaceable
    from obo_bench.programbench.evaluating.request import evaluation_request
    from obo_bench.programbench.evaluating.submissions import read_submissions
    from obo_bench.programbench.evaluation.evaluator import evaluate_submissions, preflight_evaluator
    from obo_bench.programbench.ledger_start import take_over_ledger

    found = read_submissions(options.run_root, options.run_root.name)
    take_over_ledger(session, reporter)
    selected = _choose(session, options, found)
    engine = find_engine(os.environ)
    evaluator = preflight_evaluator(engine.environ)
    session.manifest.harness |= {"engine": dict(engine.facts), "evaluator": evaluator.facts()}
    require_replaceable(options.run_root, found.hashes, evaluator)
    _tell(session, found, reporter)
    request = evaluation_request(session, options, found, selected, engine, reporter)
    session.gates_passed()
    outcome = evaluate_submissions(request, reporter)
    _record(session, found, selected, outcome)
    return _result(found, selected, outcome)


def _tell(session: Session, found: "Submissions", reporter: Reporter) -> None:
    """Tell and record what speaks against the archives; the official command passes over a stranger in silence."""
    session.manifest.harness |= {
        "submission_hashes": "taken_now" if found.taken_now else "ledger",
        "notices": list(found.submitted.notices),
    }
    for notice in found.submitted.notices:
        reporter.event(notice)
    if found.taken_now:
        reporter.event(f"{len(found.taken_now)} archive(s) are graded as they are: no ledger vouches for them")
    for name in found.submitted.others[:_MOST_TOLD]:
        reporter.event(f"not graded, as this is no instance of it: {name[:100]}")
    if (more := len(found.submitted.others) - _MOST_TOLD) > 0:
        reporter.event(f"not graded for the same reason: {more} more")


def _choose(session: Session, options: EvalOptions, found: "Submissions") -> tuple[str, ...]:
    from obo_bench.programbench.evaluating.choice import choose

    ids = options.selector.instance_ids
    if options.ids_file is not None:
        ids = (*ids, *read_ids(options.ids_file))
    selected = choose(found.requested, replace(options.selector, instance_ids=ids))
    session.manifest.requested_task_ids = list(selected)
    session.manifest.requested_count = len(selected)
    return selected


def _record(session: Session, found: "Submissions", selected: tuple[str, ...], outcome: "EvaluationOutcome") -> None:
    """Put the result into ledger and manifest, and conclude: 0 when every submission has its verdict, else 6."""
    from obo_bench.programbench.evaluation.graded_rows import append_grades, grade_totals

    manifest = session.manifest
    if found.submitted.has_ledger:
        # A first one, with these rows alone, would from now on speak against the archives of all other instances.
        rows = {name: row for name, row in found.submitted.rows.items() if name in selected}
        append_grades(session.ledger, rows, outcome.summary)
    manifest.official_command = list(outcome.command)
    manifest.harness["images"] = dict(outcome.images)
    manifest.extra.grades = grade_totals(session.run_root, outcome.summary)
    submitted = [name for name in selected if name in found.hashes]
    manifest.extra.completed_count = len(submitted) - len(outcome.ungraded_submissions)
    manifest.extra.skipped_count = manifest.extra.completed_count - len(
        {*outcome.evaluated} - {*outcome.ungraded_submissions}
    )
    manifest.extra.failed_count = len(outcome.ungraded_submissions)
    manifest.extra.not_attempted_count = len(selected) - len(submitted)
    failed = outcome.status not in ("completed", "nothing_to_evaluate") or bool(outcome.ungraded_submissions)
    manifest.extra.official_eval_status = "error" if failed else "completed"
    if failed:
        session.conclude("official_eval_error", ExitCode.EVALUATION)


def _result(found: "Submissions", selected: tuple[str, ...], outcome: "EvaluationOutcome") -> EvalResult:
    rows = outcome.summary.instances
    return EvalResult(
        summary=outcome.summary,
        selected=selected,
        ungraded=outcome.ungraded_submissions,
        unvouched=found.taken_now,
        other_images=tuple(name for name, row in rows.items() if row.image is not None and row.image.same is False),
    )
