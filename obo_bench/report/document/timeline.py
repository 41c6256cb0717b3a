"""The attempts of a run in time, and its official evaluation, on as many lines as were at work at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import usd
from obo_bench.report.document.model import TimelineBar
from obo_bench.report.document.record import RunRecord, mapping

EVALUATION = "evaluation"
"""Kind of a bar that is no attempt, and its only phase."""
_SOLVE, _LEFT = "solve", "left"


@dataclass(frozen=True)
class AttemptTime:
    """When an attempt was at work."""

    row: Row
    """The row that it ended with."""
    start_unix: float
    """When it began, in wall-clock seconds."""
    durations: dict[str, float]
    """Seconds by phase, of all invocations that were at it."""
    by_wall_clock: bool
    """Whether the solve went on between invocations: it lasted from its submission to its end by the wall clock."""

    def phases(self) -> dict[str, float]:
        """Return the durations, with what is between them and the row: a finished task that nobody fetched yet."""
        left = self.row.ts_unix - self.start_unix - sum(self.durations.values())
        if not self.by_wall_clock or left <= 0:
            return self.durations
        solved = list(self.durations).index(_SOLVE) + 1
        phases = list(self.durations.items())
        return dict([*phases[:solved], (_LEFT, round(left, 3)), *phases[solved:]])


def attempt_times(rows: Iterable[Row]) -> list[AttemptTime]:
    """Return the attempts that rows tell of, in order; a row that only repeats an ending has the same durations."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        told = found.setdefault(row.attempt, []) if row.durations else []
        if row.durations and all(row.durations != earlier.durations for earlier in told):
            told.append(row)
    return [_attempt_time(told) for told in found.values()]


def _attempt_time(told: list[Row]) -> AttemptTime:
    last = told[-1]
    durations: dict[str, float] = {}
    for row in told:
        for name, seconds in seconds_of(row).items():
            durations[name] = round(durations.get(name, 0.0) + seconds, 3)
    start = told[0].ts_unix - sum(seconds_of(told[0]).values())
    resumed = mapping(last.details.get("resumed_task"))
    submitted, ended = usd(resumed.get("submitted_unix")), usd(resumed.get("ended_unix"))
    if submitted is None or _SOLVE not in durations:
        return AttemptTime(last, start, durations, by_wall_clock=False)
    if ended is None:
        ended = last.ts_unix - durations.get("package", 0.0)
    by_wall_clock = {**durations, _SOLVE: round(max(ended - submitted, durations[_SOLVE]), 3)}
    return AttemptTime(last, min(start, submitted), by_wall_clock, by_wall_clock=True)


def seconds_of(row: Row) -> dict[str, float]:
    """Return the durations that are numbers of seconds, in their order."""
    return {name: value for name, value in row.durations.items() if usd(value) is not None}


def timeline_of(record: RunRecord) -> list[TimelineBar]:
    """Return the attempts and evaluations in the order of their beginnings, each on the first line that is free."""
    bars: list[TimelineBar] = []
    free: list[float] = []
    for bar in sorted([*_attempts(record), *_evaluations(record)], key=lambda bar: bar.start_unix):
        lane = next((number for number, end in enumerate(free) if end <= bar.start_unix), len(free))
        free[lane : lane + 1] = [bar.end_unix]
        bars.append(bar.model_copy(update={"lane": lane}))
    return bars


def _attempts(record: RunRecord) -> Iterator[TimelineBar]:
    for instance_id in record.instance_ids:
        for found in attempt_times(record.rows.get(instance_id, ())):
            yield TimelineBar(
                instance_id=instance_id,
                attempt=found.row.attempt,
                lane=0,
                start_unix=found.start_unix,
                end_unix=found.row.ts_unix,
                durations=found.phases(),
                status=str(found.row.status),
            )


def _evaluations(record: RunRecord) -> Iterator[TimelineBar]:
    """Yield the evaluations by the run itself: those of a later command would make nothing of the attempts' lengths."""
    own = {manifest.invocation for manifest in (*record.earlier, *([record.manifest] if record.manifest else []))}
    if record.summary is None or record.summary.invocation not in own:
        return
    for instance_id, grade in record.summary.instances.items():
        begun, ended = grade.started_at_unix, grade.finished_at_unix
        if begun is not None and ended is not None and ended >= begun:
            yield TimelineBar(
                kind=EVALUATION,
                instance_id=instance_id,
                attempt=grade.attempts or 1,
                lane=0,
                start_unix=begun,
                end_unix=ended,
                durations={EVALUATION: round(ended - begun, 3)},
                status=str(grade.verdict),
            )
