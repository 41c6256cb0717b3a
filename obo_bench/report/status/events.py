"""The last events of a run: from the log of its invocation, or from ledger and manifest where there is none."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from obo_bench.core.files import open_regular
from obo_bench.core.invocation_log import LOGS
from obo_bench.core.ledger_row import Row
from obo_bench.report.status.document import Event
from obo_bench.report.status.record import Record, mapping, number

SHOWN = 8
"""How many are kept."""
_TAIL_BYTES = 64 * 1024


def last_events(record: Record, rows: Iterable[Row]) -> list[Event]:
    """Return the last events, the oldest first."""
    logged = _logged(record.root / LOGS / f"{Path(record.process.invocation).name}.log")
    if logged:
        return logged[-SHOWN:]
    events = [*map(_of_row, rows), *_of_server(record.extra.get("server_events"))]
    return sorted(events, key=lambda event: event.ts_unix)[-SHOWN:]


def last_sign_of(root: Path, invocation: str) -> float | None:
    """Return when an invocation wrote the last line of its log, in wall-clock seconds; None where no log tells."""
    logged = _logged(root / LOGS / f"{Path(invocation).name}.log") if invocation else []
    return logged[-1].ts_unix if logged else None


def _logged(path: Path) -> list[Event]:
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _TAIL_BYTES))
            lines = stream.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [event for line in lines if (event := _of_line(line)) is not None]


def _of_line(line: str) -> Event | None:
    stamp, _, text = line.partition(" ")
    with contextlib.suppress(ValueError, OverflowError):
        return Event(ts_unix=datetime.fromisoformat(stamp).timestamp(), text=text)
    return None


def _of_row(row: Row) -> Event:
    detail = f": {row.error}" if row.error else ""
    return Event(ts_unix=row.ts_unix, subject=row.instance_id, text=f"{row.status} ({row.reason_code}){detail}")


def _of_server(told: Any) -> Iterable[Event]:
    for entry in told if isinstance(told, list) else ():
        found: Mapping[str, Any] = mapping(entry)
        when = number(found.get("ts_unix"))
        if when is not None:
            yield Event(ts_unix=when, text=f"the server {found.get('event')}: {found.get('detail')}")
