"""`ledger append`: a row of a launcher straight into the ledger of its run, durable when the command returns."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.ledger import Ledger, LedgerUnwritable, Row
from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.why import why
from obo_bench.launch.contract.child_rows import InvalidRow, row_of, row_problem

_OWN_BENCHMARK = "programbench"
"""Its runs keep a ledger of their own state: a row of anybody else would change what is solved."""


def append_row(run_root: Path, document: object) -> Row:
    """Append the row that a JSON object means, and return it as written.

    Raises PreflightRefused: `run_not_found`, `ledger_not_open`, `ledger_row_invalid`, or `run_root_unwritable`.
    """
    manifest = _open_run(run_root)
    try:
        row = row_of(document, manifest.benchmark, manifest.requested_task_ids)
        if problem := row_problem(row):
            raise InvalidRow(problem)
    except InvalidRow as invalid:
        raise PreflightRefused(
            "ledger_row_invalid",
            f"this is no row of the run {str(run_root)!r}: {invalid}",
            evidence={"why": str(invalid)},
        ) from invalid
    try:
        return Ledger(run_root, manifest.invocation, process_redactor()).append(row)
    except LedgerUnwritable as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"{error.filename!r}: {why(error)}",
            evidence={"run_root": str(run_root), "why": why(error)},
        ) from error


def parse_row(text: bytes, where: str) -> Mapping[str, Any]:
    """Return the JSON object of a row; raises PreflightRefused `ledger_row_invalid`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PreflightRefused(
            "ledger_row_invalid", f"{where} is no JSON document: {why(error)}", evidence={"why": why(error)}
        ) from error
    if not isinstance(found, dict):
        raise PreflightRefused(
            "ledger_row_invalid", f"{where} is no JSON object", evidence={"type": type(found).__name__}
        )
    return found


def _open_run(run_root: Path) -> RunManifest:
    try:
        manifest = read_document(RunManifest, run_root / MANIFEST_NAME)
    except UnreadableDocument as error:
        raise PreflightRefused(
            "run_not_found",
            f"there is no run at {str(run_root)!r}: {error}",
            evidence={"run_root": str(run_root)},
            remedy=f"give --run the directory of the run, the one with its {MANIFEST_NAME}: neither an id nor a file",
        ) from error
    ended = manifest.extra.outcome != "started"
    if manifest.benchmark == _OWN_BENCHMARK or (ended and manifest.command != "exec"):
        state = f"has ended ({manifest.extra.outcome})" if ended else "is at work"
        raise PreflightRefused(
            "ledger_not_open",
            f"the run {str(run_root)!r} of {manifest.command or manifest.benchmark!r} {state} and takes no rows",
            evidence={"command": manifest.command, "outcome": str(manifest.extra.outcome)},
        )
    return manifest
