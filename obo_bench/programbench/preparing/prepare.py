"""`programbench prepare`, top to bottom: admitted, container checked, workspace normalised, packaged, graded.

It submits nothing to any server, and the container is the operator's: it is looked at, never changed or removed.
"""

import contextlib
from typing import TYPE_CHECKING

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.harness import base_harness
from obo_bench.core.ledger import LedgerUnwritable, Row
from obo_bench.core.refusals import ExitCode, PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.core.why import why
from obo_bench.programbench.packaging.collection_rules import CollectionRules
from obo_bench.programbench.preparing.options import COMMAND, PrepareOptions, PrepareResult
from obo_bench.programbench.preparing.outputs import copy_manifest

if TYPE_CHECKING:
    from obo_bench.programbench.preparing.preparation import Preparation


def prepare_submission(options: PrepareOptions, reporter: Reporter) -> PrepareResult:
    """Prepare one submission as asked; every ending is in the manifest in the instance's directory.

    Raises UsageError for values that mean nothing, a Refusal before anything is changed, Interrupted on a signal.
    """
    CollectionRules.protecting(options.protected_paths)
    try:
        with benchmark_session(admission(options)) as session, Showing(session, reporter):
            return _body(session, options, reporter)
    finally:
        copy_manifest(options, reporter)


def admission(options: PrepareOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    further = {"ledger_output": options.ledger_output, "manifest_output": options.manifest_output}
    named = {name: path for name, path in further.items() if path is not None}
    return AdmissionRequest(
        benchmark="programbench",
        command=COMMAND,
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        data_root=options.isolated_data_root,
        # The workspace is written to as well: its reference is moved, and it gets a history.
        outputs=(options.workspace, *named.values()),
        seed=options.seed,
        fields={
            "requested_task_ids": [options.instance_id],
            "requested_count": 1,
            "timeout_sec": options.timeout_sec,
            "isolated_data_root": str(options.isolated_data_root) if options.isolated_data_root else None,
            "output_paths": {
                "ledger": "result_index.jsonl",
                "submission": "submission.tar.gz",
                "submission_record": "submission.json",
                "instruction": "instruction.txt",
                "task_body": "ouroboros_task_body.json",
                **{name: str(path) for name, path in named.items()},
            },
        },
        harness={
            **base_harness(),
            "workspace": str(options.workspace),
            "instruction_file": str(options.instruction_file),
            "container_name": options.container_name,
            "strict": options.strict,
        },
        extra={
            "eval_requested": options.evaluate,
            "official_eval_status": "not_run" if options.evaluate else "not_requested",
            "protected_paths": list(options.protected),
        },
    )


def _body(session: Session, options: PrepareOptions, reporter: Reporter) -> PrepareResult:
    from obo_bench.programbench.preparing.gates import pass_gates
    from obo_bench.programbench.preparing.steps import make_submission

    try:
        preparation = pass_gates(session, options, reporter)
        with contextlib.closing(preparation.engine):
            row = make_submission(preparation)
            _count(session, row)
            if options.evaluate and row.status == "completed":
                row = _evaluate(preparation, row)
    except LedgerUnwritable as error:
        other = options.ledger_output is not None and error.filename == str(options.ledger_output.resolve())
        raise PreflightRefused(
            "output_unwritable" if other else "run_root_unwritable",
            f"{error.filename!r}: {why(error)}",
            evidence={"ledger": str(error.filename), "why": why(error)},
        ) from error
    return _result(row)


def _count(session: Session, row: Row) -> None:
    done = row.status == "completed"
    extra = session.manifest.extra
    extra.completed_count, extra.failed_count = int(done), int(not done)
    extra.skipped_count = extra.not_attempted_count = extra.degraded_count = 0
    if not done:
        session.conclude("instances_failed", ExitCode.FAILED)


def _evaluate(preparation: "Preparation", row: Row) -> Row:
    from obo_bench.programbench.preparing.grading import grade_submission

    preparation.session.checkpoint()
    graded = grade_submission(preparation, row)
    if graded.status != "completed":
        preparation.session.conclude("official_eval_error", ExitCode.EVALUATION)
    return graded


def _result(row: Row) -> PrepareResult:
    return PrepareResult(
        status=str(row.status),
        reason_code=row.reason_code,
        error=row.error,
        submission_sha256=row.submission_sha256,
        official_eval_status=row.official_eval_status,
        grade=dict(row.details.get("official_evaluation") or {}),
    )
