"""Puts the official verdicts on record: into the ledger, one more row each, and as totals into the manifest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.core.files import sha256_file
from obo_bench.core.ledger import Ledger, Row
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary, InstanceGrade


def append_grades(ledger: Ledger, rows: Mapping[str, Row], summary: GradeSummary) -> None:
    """Append a row with `official_eval_status` for every submission; everything else is repeated as it was.

    Raises LedgerUnwritable.
    """
    for instance_id, grade in summary.instances.items():
        row = rows.get(instance_id)
        if row is not None and row.submission_sha256:
            ledger.append(graded_row(row, grade))


def graded_row(row: Row, grade: InstanceGrade) -> Row:
    """Return the row of a submission with its grade."""
    graded = {
        "score": grade.score,
        "official_score": grade.official_score,
        "reason": grade.reason,
        "blame": grade.blame,
    }
    details = {**row.details, "official_evaluation": graded}
    return row.model_copy(update={"official_eval_status": str(grade.verdict), "details": details})


def grade_totals(run_root: Path, summary: GradeSummary) -> dict[str, Any]:
    """Return the manifest's `grades`: the summary without its instances, and the SHA-256 of the file as written.

    Raises OSError when the file is not there any more.
    """
    document = summary.document()
    del document["instances"]
    return {"file": GRADE_SUMMARY_NAME, "sha256": sha256_file(run_root / GRADE_SUMMARY_NAME), **document}
