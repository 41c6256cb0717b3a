"""The attempts of a run in time, on as many lines as were at work at once."""

from collections.abc import Iterable

from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import usd
from obo_bench.report.document.model import TimelineBar
from obo_bench.report.document.record import RunRecord


def first_endings(rows: Iterable[Row]) -> list[Row]:
    """Return the row that each attempt ended with, in order: later rows of the attempt only repeat it."""
    found: dict[int, Row] = {}
    for row in rows:
        if row.durations and row.attempt not in found:
            found[row.attempt] = row
    return list(found.values())


def seconds_of(row: Row) -> dict[str, float]:
    """Return the durations that are numbers of seconds, in their order."""
    return {name: value for name, value in row.durations.items() if usd(value) is not None}


def timeline_of(record: RunRecord) -> list[TimelineBar]:
    """Return the attempts in the order of their beginnings, each on the first line that is free."""
    endings = [row for iid in record.instance_ids for row in first_endings(record.rows.get(iid, ()))]
    bars: list[TimelineBar] = []
    free: list[float] = []
    for row in sorted(endings, key=_start):
        start = _start(row)
        lane = next((number for number, end in enumerate(free) if end <= start), len(free))
        free[lane : lane + 1] = [row.ts_unix]
        bars.append(_bar(row, lane, start))
    return bars


def _start(row: Row) -> float:
    return row.ts_unix - sum(seconds_of(row).values())


def _bar(row: Row, lane: int, start: float) -> TimelineBar:
    return TimelineBar(
        instance_id=row.instance_id,
        attempt=row.attempt,
        lane=lane,
        start_unix=start,
        end_unix=row.ts_unix,
        durations=seconds_of(row),
        status=str(row.status),
    )
