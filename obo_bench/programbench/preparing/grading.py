"""The official evaluation of one prepared submission: the same code as `run --eval`, for this instance alone."""

import os
from contextlib import ExitStack

from obo_bench.core.ledger import LEDGER_NAME, Row, latest_rows
from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.cleanroom_spec import NONCE_LABEL, RUN_LABEL
from obo_bench.engine.leftovers import EVALUATOR, ROLE_LABEL
from obo_bench.programbench.context import evaluator_environment
from obo_bench.programbench.evaluation.accounts import read_accounts
from obo_bench.programbench.evaluation.evaluation_request import EvaluationOutcome, EvaluationRequest
from obo_bench.programbench.evaluation.evaluator import evaluate_submissions
from obo_bench.programbench.evaluation.evaluator_settings import INSTANCE_LIMIT_SEC, container_cpus
from obo_bench.programbench.evaluation.graded_rows import grade_totals, graded_row
from obo_bench.programbench.instances import is_instance_id
from obo_bench.programbench.preparing.preparation import Preparation
from obo_bench.programbench.preparing.run_claim import claimed_run

EVAL_FAILED = "official_eval_failed"


def grade_submission(preparation: Preparation, row: Row) -> Row:
    """Grade the submission of a row and append the row that says so; returns that.

    It is `failed` (`official_eval_failed`) where there is no official verdict; the submission is as it was. The run is
    held meanwhile: the evaluation writes the grades of all its instances.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(claimed_run(preparation.options, preparation.session.invocation, preparation.reporter))
        except PreflightRefused as refusal:
            refusal.settle()
            preparation.session.manifest.extra.official_eval_status = "error"
            return _failed(preparation, row, f"there was no official evaluation: {refusal.message}")
        return _graded(preparation, row)


def _graded(preparation: Preparation, row: Row) -> Row:
    outcome = _evaluate(preparation, row)
    manifest, grade = preparation.session.manifest, outcome.summary.instances[row.instance_id]
    failed = outcome.status != "completed" or bool(outcome.ungraded_submissions)
    manifest.official_command = list(outcome.command)
    manifest.extra.official_eval_status = "error" if failed else "completed"
    manifest.extra.grades = grade_totals(preparation.options.run, outcome.summary)
    graded = graded_row(row, grade)
    if failed:
        return _failed(preparation, graded, f"the official evaluation ended as {outcome.status}: {grade.reason}")
    return preparation.append(graded)


def _failed(preparation: Preparation, row: Row, error: str) -> Row:
    return preparation.append(row.model_copy(update={"status": "failed", "reason_code": EVAL_FAILED, "error": error}))


def _evaluate(preparation: Preparation, row: Row) -> EvaluationOutcome:
    """The one call of the evaluator; the run's other instances keep their grades."""
    engine, options = preparation.engine, preparation.options
    rows = latest_rows(options.run / LEDGER_NAME)
    requested = tuple(name for name in rows if is_instance_id(name))
    return evaluate_submissions(
        EvaluationRequest(
            run_root=options.run,
            requested_ids=requested,
            submissions={name: sha256 for name in requested if (sha256 := rows[name].submission_sha256)},
            selected_ids=frozenset({row.instance_id}),
            docker_cpus=container_cpus(None, os.environ, engine.cpus),
            timeout_sec=INSTANCE_LIMIT_SEC,
            environ=evaluator_environment(engine, os.environ),
            labels={
                RUN_LABEL: options.run.name,
                NONCE_LABEL: preparation.nonce,
                ROLE_LABEL: EVALUATOR,
            },
            invocation=preparation.session.invocation,
            accounts=read_accounts(options.run, requested),
        ),
        preparation.reporter,
    )
