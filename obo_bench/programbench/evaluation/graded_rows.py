"""Put the official verdicts into the ledger: one more complete row for each instance that was submitted."""

from collections.abc import Mapping

from obo_bench.core.ledger import Ledger, Row
from obo_bench.programbench.evaluation.grade_summary import GradeSummary


def append_grades(ledger: Ledger, rows: Mapping[str, Row], summary: GradeSummary) -> None:
    """Append a row with `official_eval_status` for every submission; everything else is repeated as it was."""
    for instance_id, grade in summary.instances.items():
        row = rows.get(instance_id)
        if row is None or not row.submission_sha256:
            continue
        graded = {"score": grade.score, "reason": grade.reason, "blame": grade.blame}
        ledger.append(
            row.model_copy(
                update={
                    "official_eval_status": str(grade.verdict),
                    "details": {**row.details, "official_evaluation": graded},
                }
            )
        )
