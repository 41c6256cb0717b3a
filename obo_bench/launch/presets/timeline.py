"""The timeline of an evolving volume: one row for each task, as `timeline.jsonl` has it.

Relied upon are `instance_id`, `patch_bytes`, `infra_suspect`, `infra_reason`, `secret_opt_in_required`, `libc_skip` and
`spent_after_usd`, the total that the volume had spent after the task; `api_errors` is kept as it is. What a task cost
is the difference to the row before it: of the first one it is not known, nor after a volume was restored.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from obo_bench.core.ledger_row import Status
from obo_bench.launch.presets.collecting import Collected, details_of, number, one_line, word
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.predictions import identified, prediction_result
from obo_bench.launch.presets.preset import Harvest, Result
from obo_bench.launch.presets.problems import Problems

PERMANENT_REASONS = frozenset({"pyexpat_abi_mismatch", "pip_bootstrap_failed", "server_import_failed"})
"""The image of the task can never run the agent (exit status 87 of its entry point); other tasks go on."""
_KEPT = ("patch_bytes", "api_errors", "infra_suspect", "infra_reason", "libc_skip", "secret_opt_in_required")


def timeline_results(launch: Launch, files: Mapping[str, Path]) -> Harvest:
    """Return a result for each task of the timeline, and for predictions that it does not know."""
    problems = Problems()
    collected = Collected(problems)
    if not files:
        problems.tell("the command names no --out-dir, so its timeline was not looked for")
        return collected.harvest()
    before: float | None = None
    for instance_id, row in identified(files["timeline"], launch, problems, once=False):
        earlier, after = collected.results.get(instance_id), number(row.get("spent_after_usd"))
        result = _result(instance_id, row, files["timeline"])
        attempt = earlier.attempt + 1 if earlier else 1
        collected.add(replace(result, attempt=attempt, cost=_cost(before, after, earlier)))
        before = after
    if files["predictions"].exists():
        _add_unlisted(files["predictions"], launch, collected)
    return collected.harvest()


def _result(instance_id: str, row: dict[str, Any], path: Path) -> Result:
    status, reason, error = _judged(row)
    return Result(
        instance_id,
        status,
        reason,
        prediction_written=bool(number(row.get("patch_bytes"))),
        output_paths={"timeline": str(path)},
        error=error,
        details=details_of(row, *_KEPT),
    )


def _cost(before: float | None, after: float | None, earlier: Result | None) -> dict[str, Any]:
    """Return the total after a task, and what all tries at it cost where both totals are known."""
    if after is None:
        return {}
    so_far = earlier.cost.get("usd", 0.0) if earlier else 0.0
    own = {"usd": so_far + after - before} if before is not None and after >= before else {}
    return {"spent_after_usd": after, **own}


def _judged(row: dict[str, Any]) -> tuple[Status, str, str]:
    """Return status, reason and error of a row; a reason that nobody knows is taken as it is."""
    reason, patch_bytes = word(row.get("infra_reason")), number(row.get("patch_bytes"))
    if reason:
        return "blocked" if reason in PERMANENT_REASONS else "failed", reason, ""
    if row.get("secret_opt_in_required") is True:
        return "failed", "secret_opt_in_required", ""
    if row.get("libc_skip") is True:
        return "skipped", "libc_skip", ""
    if patch_bytes is None or patch_bytes < 0:
        return "failed", "result_unreadable", f"patch_bytes is {one_line(row.get('patch_bytes')) or 'missing'}"
    if patch_bytes:
        return "completed", "prediction_written", ""
    return "failed", "infra_suspect" if row.get("infra_suspect") is True else "empty_prediction", ""


def _add_unlisted(path: Path, launch: Launch, collected: Collected) -> None:
    """Take the predictions of tasks that have no row: the schedule was ended between the two writes."""
    for instance_id, row in identified(path, launch, collected.problems):
        if instance_id not in collected.results:
            collected.add(prediction_result(instance_id, row, path))
