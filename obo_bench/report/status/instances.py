"""How each requested instance stands, by the files of the run alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument
from obo_bench.core.ledger_row import Row
from obo_bench.core.result_reasons import NO_RESULT
from obo_bench.gateway.checkpoint import INTENT, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.cost import is_lower_bound, usd
from obo_bench.gateway.wire import FINAL_STATUSES
from obo_bench.programbench.leftovers.still_running import may_still_run
from obo_bench.programbench.paths import InstancePaths
from obo_bench.report.launched import UNKNOWN, is_untold
from obo_bench.report.row_grades import verdict_of
from obo_bench.report.status.document import ContainerStatus, InstanceStatus
from obo_bench.report.status.record import Record, mapping, number

_DONE = frozenset({"completed", "skipped"})


@dataclass(frozen=True)
class InstanceFiles:
    """Reads the instances of one recorded run."""

    record: Record
    """The run."""
    rows: Mapping[str, Row]
    """The last ledger row of each instance."""
    problems: list[str]
    """Takes what cannot be read."""

    def statuses(self, instance_ids: Iterable[str]) -> list[InstanceStatus]:
        """Return how the instances stand, in their order."""
        return [self._status(InstancePaths(self.record.root, name), self.rows.get(name)) for name in instance_ids]

    def _status(self, paths: InstancePaths, row: Row | None) -> InstanceStatus:
        if row is not None and self._is_settled(paths, row):
            return _of_row(row)
        task = self._task(paths)
        if task is not None and (found := self._at_work(paths, row, task)) is not None:
            return found
        if self.record.alive and (begun := self._begun(paths)) is not None:
            return begun.model_copy(update={"attempt": (row.attempt + 1) if row is not None else 1})
        if row is None:
            return self._without_row(paths.instance_id)
        if self.record.alive and row.status not in _DONE:
            # What an earlier invocation wrote: this one has not come to it.
            return _of_row(row).model_copy(update={"state": "waiting", "since_unix": None})
        return _of_row(row)

    def _without_row(self, instance_id: str) -> InstanceStatus:
        if self.record.alive:
            return InstanceStatus(instance_id=instance_id, state="waiting")
        if is_untold(self.record.manifest):
            return InstanceStatus(instance_id=instance_id, state=UNKNOWN, reason_code=NO_RESULT)
        return InstanceStatus(instance_id=instance_id, state="not_begun")

    def _is_settled(self, paths: InstancePaths, row: Row) -> bool:
        """Whether nothing newer than the row can be there, so that no checkpoint has to be read."""
        if self.record.alive:
            return row.invocation == self.record.process.invocation or (
                row.status in _DONE and _changed(paths.checkpoint) <= row.ts_unix
            )
        return row.status in _DONE

    def _task(self, paths: InstancePaths) -> TaskCheckpoint | None:
        try:
            return CheckpointFile(paths.checkpoint).read()
        except UnreadableDocument as error:
            self.problems.append(str(error))
            return None

    def _at_work(self, paths: InstancePaths, row: Row | None, task: TaskCheckpoint) -> InstanceStatus | None:
        """Return the state of an instance whose task is not over or not dealt with; None where the row tells more."""
        state, over = "", task.status in FINAL_STATUSES
        if over and (row is None or (row.attempt <= task.attempt and row.ts_unix < task.ts_unix)):
            state = "packaging"
        elif may_still_run(paths, task):
            state = "submitting" if task.status == INTENT else "solving"
        if not state:
            return None
        rounds = number(mapping(task.task_result).get("total_rounds"))
        told = row if row is not None and not self.record.alive else None
        return InstanceStatus(
            instance_id=paths.instance_id,
            state=state if self.record.alive else "left",
            since_unix=task.ts_unix,
            attempt=task.attempt,
            task_id=task.task_id,
            task_status=task.status,
            rounds=None if rounds is None else int(rounds),
            container=ContainerStatus(name=task.container) if task.container else None,
            reason_code=told.reason_code if told is not None else "",
            error=told.error if told is not None else "",
        )

    def _begun(self, paths: InstancePaths) -> InstanceStatus | None:
        """Return the state of an instance that this invocation has come to and not submitted yet."""
        since = number(self.record.manifest.get("created_at_unix")) or 0.0
        for state, path in (("queued", paths.body), ("preparing", paths.workspace), ("preparing", paths.directory)):
            if (changed := _changed(path)) >= since > 0.0:
                return InstanceStatus(instance_id=paths.instance_id, state=state, since_unix=changed)
        return None


def _of_row(row: Row) -> InstanceStatus:
    evaluation = mapping(row.details.get("official_evaluation"))
    cost = usd(row.cost.get("usd"))
    return InstanceStatus(
        instance_id=row.instance_id,
        state=row.status,
        since_unix=row.ts_unix,
        attempt=row.attempt,
        task_id=str(row.details.get("task_id") or ""),
        cost_usd=cost,
        cost_is_final=None if cost is None else not is_lower_bound(row.cost),
        reason_code=row.reason_code,
        error=row.error,
        degraded=bool(row.details.get("degraded")),
        verdict=verdict_of(row),
        score=number(evaluation.get("score")),
    )


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
