"""What is recorded of each instance: its ending, grade, cost, attempts and files."""

from pathlib import Path

from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import usd
from obo_bench.programbench.evaluation.accounts import NO_ROW
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade
from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.report.document.images import image_facts, image_name
from obo_bench.report.document.model import Artifact, Attempt, InstanceReport
from obo_bench.report.document.record import RunRecord, text_of
from obo_bench.report.document.remedies import grade_remedy, row_remedy
from obo_bench.report.document.timeline import first_endings, seconds_of

_MOST_ATTEMPTS = 20
_ARTIFACTS = (
    ("submission", "submission.tar.gz"),
    ("submission record", "submission.json"),
    ("evaluation", "{id}.eval.json"),
    ("instruction", "instruction.txt"),
    ("task", "ouroboros_task_body.json"),
    ("task result", "ouroboros_task_result.json"),
    ("cleanroom", "cleanroom.json"),
    ("ledger", "result_index.jsonl"),
    ("workspace", "workspace"),
    ("earlier attempts", "attempts"),
)
_DONE = ("completed", "skipped")


def instances_of(record: RunRecord) -> list[InstanceReport]:
    """Return all instances, in the order in which they were asked for."""
    return [_instance(record, instance_id) for instance_id in record.instance_ids]


def _instance(record: RunRecord, instance_id: str) -> InstanceReport:
    rows = record.rows.get(instance_id, ())
    last = rows[-1] if rows else None
    report = InstanceReport(
        instance_id=instance_id,
        status=str(last.status) if last else "not_attempted",
        reason=last.reason_code if last else NO_ROW,
        error=last.error if last else "",
        submission_sha256=last.submission_sha256 if last else "",
        protection=text_of(last.details.get("protection")) if last else "",
        image=image_name(image_facts(record, instance_id)),
        attempts=[_attempt(row) for row in first_endings(rows)[-_MOST_ATTEMPTS:]],
        artifacts=_artifacts(record.root, instance_id),
    )
    grade = record.summary.instances.get(instance_id) if record.summary else None
    graded = report.model_copy(update={**_money(record, report), **(_grade(grade) if grade else {})})
    return graded.model_copy(update={"remedy": _remedy(graded)})


def _attempt(row: Row) -> Attempt:
    return Attempt(
        attempt=row.attempt,
        status=str(row.status),
        reason=row.reason_code,
        ended_at_unix=row.ts_unix,
        durations=seconds_of(row),
        cost_usd=usd(row.cost.get("usd")),
    )


def _money(record: RunRecord, report: InstanceReport) -> dict[str, object]:
    """Return cost and time of all attempts; what no account knows is unknown, never 0."""
    took = [sum(attempt.durations.values()) for attempt in report.attempts]
    times: dict[str, object] = {"seconds": round(sum(took), 3) if took else None}
    account = record.accounts.get(report.instance_id)
    if account is None or not account.solve_attempts + account.unknown_costs:
        return times
    known = account.unknown_costs < max(account.solve_attempts, 1)
    return {
        **times,
        "cost_usd": account.known_usd if known else None,
        "unknown_costs": account.unknown_costs,
        "degraded": account.degraded,
    }


def _grade(grade: InstanceGrade) -> dict[str, object]:
    return {
        "verdict": str(grade.verdict),
        "score": grade.score,
        "passed": grade.passed,
        "failed": grade.failed,
        "not_run": grade.not_run,
        "grade_reason": grade.reason,
        "blame": text_of(grade.blame),
        "grade_detail": grade.detail,
    }


def _remedy(report: InstanceReport) -> str:
    if report.status not in _DONE:
        return row_remedy(report.reason)
    return grade_remedy(report.grade_reason) if report.verdict not in ("", Verdict.PASS) else ""


def _artifacts(root: Path, instance_id: str) -> list[Artifact]:
    """Return what is there; an id that is no plain name below the run root has nothing."""
    if Path(instance_id).name != instance_id:
        return []
    named = [(name, f"{instance_id}/{file.replace('{id}', instance_id)}") for name, file in _ARTIFACTS]
    return [Artifact(name=name, path=path) for name, path in named if _is_there(root / path)]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
