"""From an admitted preparation to the row that tells what came of it."""

from obo_bench.core.files import write_json, write_text
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.trouble import engine_errors
from obo_bench.programbench.packaging.record import SubmissionRecord
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.preparing.container import FoundContainer, inspect_container, missing_limits
from obo_bench.programbench.preparing.history import settle_history
from obo_bench.programbench.preparing.preparation import Blocked, Preparation
from obo_bench.programbench.preparing.reference import FAILED, settle_reference
from obo_bench.programbench.solving.endings import PACKAGING_FAILED
from obo_bench.programbench.solving.task_body import build_task_body


def make_submission(preparation: Preparation) -> Row:
    """Check the container, normalise the workspace, write the task and package; returns the row that was written.

    Raises LedgerUnwritable, and PreflightRefused where the instance's directory takes no files.
    """
    try:
        found = _container(preparation)
        reference = _normalise(preparation, found)
    except Blocked as blocked:
        return preparation.row("blocked", blocked.reason, error=str(blocked), **blocked.details)
    _write_task(preparation)
    try:
        record = _package(preparation, reference)
    except (SubmissionFailed, OSError) as error:
        return preparation.row("failed", PACKAGING_FAILED, error=str(error))
    for warning in record.warnings:
        preparation.note(f"the submission: {warning}")
    return preparation.row("completed", "submission_prepared", submission_sha256=record.sha256)


def _container(preparation: Preparation) -> FoundContainer:
    options, manifest = preparation.options, preparation.session.manifest
    found = inspect_container(preparation.engine, options.container_name, preparation.image, options.workspace)
    manifest.harness["container"] = dict(found.facts)
    manifest.harness["images"] = {preparation.instance.instance_id: found.image.facts()}
    preparation.session.checkpoint()
    preparation.details["container"] = options.container_name
    lacking = missing_limits(found.facts)
    if lacking:
        preparation.note(f"container {options.container_name!r} has no limit of {', '.join(lacking)}")
    return found


def _normalise(preparation: Preparation, found: FoundContainer) -> ReferenceTraces | None:
    """Return the traces of the reference, None if the image has none; may be repeated any number of times."""
    workspace = preparation.options.workspace
    if preparation.options.run.resolve().is_relative_to(workspace.resolve()):
        raise Blocked(FAILED, f"the run {str(preparation.options.run)!r} lies in the workspace")
    try:
        reference = settle_reference(preparation, found)
        preparation.details["history"] = settle_history(workspace)
    except engine_errors(OSError) as error:
        raise Blocked(FAILED, f"{str(workspace)!r} cannot be prepared: {error}") from error
    return reference


def _write_task(preparation: Preparation) -> None:
    options, paths = preparation.options, preparation.paths
    body = build_task_body(
        instance_id=options.instance_id,
        task_id=options.instance_id,
        description=preparation.instruction,
        workspace=options.workspace.resolve(),
        container_name=options.container_name,
        image=preparation.image,
        timeout_sec=options.timeout_sec,
        protected_paths=options.protected,
    )
    try:
        write_text(paths.instruction, preparation.instruction)
        write_json(paths.body, body)
    except OSError as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"{str(paths.directory)!r} cannot be written: {error.strerror or error}",
            evidence={"run_root": str(paths.directory), "why": str(error)},
        ) from error


def _package(preparation: Preparation, reference: ReferenceTraces | None) -> SubmissionRecord:
    options = preparation.options
    return package_workspace(
        options.workspace.resolve(),
        preparation.paths.directory,
        protected_paths=options.protected,
        reference=reference,
        strict=options.strict,
    )
