"""How far the official evaluation is, and what it has said."""

from collections.abc import Sequence
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.programbench.evaluation.eval_files import read_provenance
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME, GradeSummary
from obo_bench.report.row_grades import row_grades
from obo_bench.report.status.document import AT_WORK, EvaluationStatus, GradeStatus, InstanceStatus
from obo_bench.report.status.record import Record

_LOG_END = ".stdout.log"
_INFO = "info"
"""Name of the log of `programbench info`, which follows the last instance."""


def evaluation_status(record: Record, instances: Sequence[InstanceStatus]) -> EvaluationStatus:
    """Return how far the evaluation is; `instances` are those of the run."""
    told = str(record.extra.get("official_eval_status") or "not_requested")
    if record.launched and any(instance.verdict for instance in instances):
        told = "completed"
    logs = record.root / "eval" / Path(record.process.invocation or "none").name
    begun = sorted(path.name.removesuffix(_LOG_END) for path in logs.glob(f"*{_LOG_END}"))
    begun = [name for name in begun if name != _INFO]
    if not record.alive:
        return EvaluationStatus(state=told, begun=len(begun), finished=_finished(record, begun))
    at_work = any(instance.state in AT_WORK or instance.state == "waiting" for instance in instances)
    evaluating = record.process.command == "programbench eval" or (begun and not at_work)
    return EvaluationStatus(
        state="running" if evaluating else told, begun=len(begun), finished=_finished(record, begun)
    )


def grade_status(root: Path, instances: Sequence[InstanceStatus], problems: list[str]) -> GradeStatus | None:
    """Return the headline of the grades, None where there are none; what cannot be read is put to the problems."""
    path = root / GRADE_SUMMARY_NAME
    if not path.exists():
        told = row_grades(instance.verdict for instance in instances)
        return GradeStatus(**told.document()) if told is not None else None
    try:
        summary = read_document(GradeSummary, path)
    except UnreadableDocument as error:
        problems.append(str(error))
        return None
    return GradeStatus(
        passed=summary.passed,
        failed=summary.failed,
        ungraded=summary.ungraded,
        mean_over_listed=summary.official_mean_over_listed,
        mean_over_benchmark=summary.official_mean_over_benchmark,
    )


def _finished(record: Record, begun: Sequence[str]) -> int:
    """Count the instances whose present result this invocation's evaluator has written."""
    proofs = [read_provenance(record.root, name) for name in begun]
    return sum(proof is not None and proof.invocation == record.process.invocation for proof in proofs)
