"""What is recorded of each instance: its ending, grade, cost, attempts and files."""

from pathlib import Path

from obo_bench.core.result_reasons import NO_RESULT
from obo_bench.gateway.cost import usd
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade
from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.programbench.row_reasons import NO_ROW
from obo_bench.report.document.images import image_facts, image_name
from obo_bench.report.document.model import Artifact, Attempt, InstanceReport
from obo_bench.report.document.record import RunRecord, mapping, text_of
from obo_bench.report.document.remedies import grade_remedy, launcher_grade_remedy, launcher_row_remedy, row_remedy
from obo_bench.report.document.timeline import AttemptTime, attempt_times
from obo_bench.report.graded import GRADER
from obo_bench.report.graded import remedy as grader_remedy
from obo_bench.report.launched import BEGUN, UNKNOWN, again, is_untold
from obo_bench.report.row_grades import verdict_of

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
    status, reason = (str(last.status), last.reason_code) if last else _without_row(record)
    report = InstanceReport(
        instance_id=instance_id,
        status=status,
        reason=reason,
        error=last.error if last else "",
        submission_sha256=last.submission_sha256 if last else "",
        protection=text_of(last.details.get("protection")) if last else "",
        image=image_name(image_facts(record, instance_id)),
        attempts=[_attempt(found) for found in attempt_times(rows)[-_MOST_ATTEMPTS:]],
        artifacts=_artifacts(record.root, instance_id),
    )
    graded = report.model_copy(update={**_money(record, report), **_graded(record, instance_id)})
    return graded.model_copy(update={"remedy": _remedy(record, graded)})


def _without_row(record: RunRecord) -> tuple[str, str]:
    """Return status and reason of an instance that no row tells of."""
    if record.launched:
        return UNKNOWN if is_untold(record.document) else "not_attempted", NO_RESULT
    return "not_attempted", NO_ROW


def _attempt(found: AttemptTime) -> Attempt:
    row = found.row
    return Attempt(
        attempt=row.attempt,
        status=str(row.status),
        reason=row.reason_code,
        ended_at_unix=row.ts_unix,
        begun_at_unix=found.start_unix,
        durations=found.durations,
        by_wall_clock=found.by_wall_clock,
        cost_usd=usd(row.cost.get("usd")),
    )


def _money(record: RunRecord, report: InstanceReport) -> dict[str, object]:
    """Return cost and time of all attempts; what no account knows is unknown, never 0."""
    took = [sum(attempt.durations.values()) for attempt in report.attempts]
    times: dict[str, object] = {"seconds": round(sum(took), 3) if took else None}
    account = record.accounts.get(report.instance_id)
    if account is None or record.command == GRADER or not account.solve_attempts + account.unknown_costs:
        return {**times, "unknown_costs": int(record.launched and report.status in BEGUN)}
    known = account.unknown_costs < max(account.solve_attempts, 1)
    return {
        **times,
        "cost_usd": account.known_usd if known else None,
        "unknown_costs": account.unknown_costs,
        "cost_is_lower_bound": known and account.lower_bound,
        "degraded": account.degraded,
    }


def _graded(record: RunRecord, instance_id: str) -> dict[str, object]:
    """Return the grade of an instance: by the grade summary, without one by its last row."""
    if record.summary is not None:
        grade = record.summary.instances.get(instance_id)
        return _grade(grade) if grade else {}
    last = record.last_row(instance_id)
    verdict, told = verdict_of(last), mapping(last.details.get("official_evaluation")) if last else {}
    return {"verdict": verdict, "score": usd(told.get("score")), "grade_reason": text_of(told.get("reason")) or verdict}


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


def _remedy(record: RunRecord, report: InstanceReport) -> str:
    if report.status in _DONE and report.verdict in ("", Verdict.PASS):
        return ""
    if record.command == GRADER:
        return grader_remedy(report.reason)
    if record.launched:
        repeat = again(record.command, record.root)
        solved = report.status in _DONE
        return launcher_grade_remedy(report.verdict) if solved else launcher_row_remedy(report.reason, repeat)
    return grade_remedy(report.grade_reason) if report.status in _DONE else row_remedy(report.reason)


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
