"""Ledger rows of ProgramBench instances."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from obo_bench.core.ledger import Row, Status
from obo_bench.core.wire_format import LaterWord
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.endings import last_ending

if TYPE_CHECKING:
    from obo_bench.programbench.context import RunContext

_LASTING = ("infrastructure", "degraded", "protection", "image", "image_findings")
"""Details of an ending that a row which repeats it keeps."""


def append_row(
    context: "RunContext",
    instance_id: str,
    status: Status | LaterWord,
    reason: str,
    *,
    attempt: int,
    error: str = "",
    details: dict[str, Any] | None = None,
    submission_sha256: str = "",
    durations: dict[str, float] | None = None,
    cost: dict[str, Any] | None = None,
    official_eval_status: str = "not_run",
) -> Row:
    """Write one row in both ledgers, tell the operator, and return it."""
    paths = context.paths(instance_id)
    if status in ("not_attempted", "blocked"):
        submission_sha256, official_eval_status = _still_there(paths) or (submission_sha256, official_eval_status)
    row = context.session.ledger.append(
        Row(
            benchmark=BENCHMARK,
            instance_id=instance_id,
            status=status,
            reason_code=reason,
            prediction_written=paths.submission.is_file(),
            output_paths=paths.outputs(),
            error=error,
            details=details or {},
            attempt=attempt,
            submission_sha256=submission_sha256,
            durations={name: round(seconds, 3) for name, seconds in (durations or {}).items()},
            cost=cost or {},
            official_eval_status=official_eval_status,
        )
    )
    context.note(row)
    context.reporter.event(f"{status} ({reason}){': ' + error if error else ''}", instance_id)
    return row


def _still_there(paths: InstancePaths) -> tuple[str, str] | None:
    """Return hash and evaluation of an archive that nothing has touched: the last row must not hide finished work."""
    if not paths.submission.is_file():
        return None
    row = last_ending(paths)
    return (row.submission_sha256, row.official_eval_status) if row is not None and row.submission_sha256 else None


def repeat_row(context: "RunContext", earlier: Row, status: Status | LaterWord, reason: str, why: str) -> Row:
    """Write that an instance was left as an earlier invocation ended it; the row is complete in itself."""
    return append_row(
        context,
        earlier.instance_id,
        status,
        reason,
        attempt=earlier.attempt,
        error="" if status == "skipped" else earlier.error,
        details={"why": why, "earlier_invocation": earlier.invocation, **_lasting(earlier)},
        submission_sha256=earlier.submission_sha256,
        cost=earlier.cost,
        official_eval_status=earlier.official_eval_status,
    )


def image_facts(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says of the image of which `known` is recorded: its identity, and its audit's objections."""
    audit = known.get("audit") or {}
    facts: dict[str, Any] = {"image": {name: known.get(name) for name in ("name", "id", "digests")}} if known else {}
    if audit.get("findings"):
        facts["image_findings"] = {name: audit.get(name) for name in ("findings", "findings_count", "waived")}
    return facts


def _lasting(row: Row) -> dict[str, Any]:
    return {name: row.details[name] for name in _LASTING if name in row.details}
