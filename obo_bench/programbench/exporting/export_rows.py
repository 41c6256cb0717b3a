"""Ledger rows of an export: complete in themselves, so that the destination can be graded and exported in turn.

A row says how the instance stands: an instance without a submission keeps the status and reason that it has in the
source, and every row keeps how many attempts the submission took and what they cost.
"""

from collections.abc import Mapping
from typing import Any

from obo_bench.core.ledger import Row
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.evaluation.instance_account import CARRIED_ACCOUNT
from obo_bench.programbench.exporting.export_manifest import FAULTS, ExportedInstance
from obo_bench.programbench.paths import InstancePaths

_LASTING = ("infrastructure", "degraded", "protection")
_UNFINISHED = ("failed", "blocked", "not_attempted")


def export_row(
    entry: ExportedInstance,
    paths: InstancePaths,
    *,
    source_row: Row | None,
    account: Mapping[str, Any] | None,
    standing: Row | None,
) -> Row:
    """Return the row of an exported instance; `standing` is the destination's last one."""
    status, reason = _ending(entry, source_row)
    kept = standing if standing is not None and entry.sha256 and standing.submission_sha256 == entry.sha256 else None
    return Row(
        benchmark=BENCHMARK,
        instance_id=entry.instance_id,
        status=status,
        reason_code=reason,
        prediction_written=bool(entry.sha256),
        official_eval_status=kept.official_eval_status if kept else "not_run",
        output_paths=paths.outputs() if entry.sha256 else {},
        error=entry.detail,
        details=_details(entry, source_row, account, kept),
        attempt=source_row.attempt if source_row else 1,
        submission_sha256=entry.sha256,
        cost=source_row.cost if source_row else {},
    )


def _ending(entry: ExportedInstance, source_row: Row | None) -> tuple[Any, str]:
    if entry.sha256:
        return ("completed" if entry.status == "copied" else "skipped"), entry.reason
    if entry.reason in FAULTS:
        return "failed", entry.reason
    if source_row is not None and source_row.status in _UNFINISHED:
        return source_row.status, source_row.reason_code
    return "not_attempted", entry.reason


def _details(
    entry: ExportedInstance, source_row: Row | None, account: Mapping[str, Any] | None, kept: Row | None
) -> dict[str, Any]:
    evaluation = {name: kept.details[name] for name in ("official_evaluation",) if kept and name in kept.details}
    lasting = {name: source_row.details[name] for name in _LASTING if source_row and name in source_row.details}
    exported: dict[str, Any] = {
        "status": entry.status,
        "reason": entry.reason,
        "method": entry.method,
        "unverified": entry.unverified,
    }
    if source_row is not None:
        exported["source_row"] = {
            "status": source_row.status,
            "reason_code": source_row.reason_code,
            "invocation": source_row.invocation,
            "seq": source_row.seq,
        }
    return {**lasting, **evaluation, "export": exported} | ({CARRIED_ACCOUNT: dict(account)} if account else {})
