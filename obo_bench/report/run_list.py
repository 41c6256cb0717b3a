"""The runs below a runs root, one short entry each (wire format of `obo-bench runs --json`).

Of each run only its small documents are read, and its ledger only while no manifest tells what came of it. A run that
cannot be read is listed all the same, with its problem.
"""

import time
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.files import read_json_object
from obo_bench.core.ledger_reader import latest_rows
from obo_bench.core.ledger_row import LEDGER_NAME, Row
from obo_bench.core.roots import without_dots
from obo_bench.core.wire_format import WireModel
from obo_bench.gateway.cost import usd
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME
from obo_bench.programbench.solving.account import Account
from obo_bench.report.known_runs import recorded
from obo_bench.report.launched import BEGUN
from obo_bench.report.legs import legs_of
from obo_bench.report.row_grades import row_grades, verdict_of
from obo_bench.report.status.record import Record, number, read_record

_LEDGER_BYTES = 16 * 1024 * 1024
"""A ledger beyond this is not counted for a list."""


class ListedRun(WireModel):
    """One record."""

    run_id: str
    """Name of its directory."""
    run_root: str
    """Its directory."""
    kind: str
    """run, export, prepared, attest, graded (a directory that was only evaluated), exec, benchmark_run, campaign, grade
    or other."""
    benchmark: str = ""
    """The benchmark; empty where no manifest tells."""
    command: str = ""
    """The command that made it."""
    outcome: str = "unknown"
    """The recorded outcome; `started` while a process is at work, `killed` when it is gone without an ending."""
    alive: bool = False
    """Whether a process is at work on it."""
    exit_code: int | None = None
    """The recorded exit status."""
    created_at_unix: float | None = None
    """When it was admitted, in wall-clock seconds."""
    finished_at_unix: float | None = None
    """When its ending was recorded; null for one that has none."""
    begun_at_unix: float | None = None
    """When the first invocation on this run root was admitted, in wall-clock seconds; null when unknown."""
    worked_sec: float | None = None
    """What all invocations took, each from its admission to its ending or to now, without the time between them."""
    worked_is_lower_bound: bool = False
    """Whether one of them was killed: that one counts to the last line of its log."""
    requested: int | None = None
    """Instances that were asked for; null where that is not known."""
    completed: int | None = None
    """Instances with a submission, earlier ones included; null where nothing tells."""
    failed: int | None = None
    """Instances that failed or were blocked."""
    not_attempted: int | None = None
    """Instances that were never started."""
    cost_usd: float | None = None
    """The sum of the known costs in USD; null where nothing tells."""
    cost_unknown: int | None = None
    """Attempts whose cost is not known."""
    cost_is_lower_bound: bool | None = None
    """Whether more may have been spent."""
    passed: int | None = None
    """Instances with the official score 1.0, or that a launcher's rows call passed; null for an ungraded run, as the
    next three."""
    not_passed: int | None = None
    """Instances with an official verdict below."""
    ungraded: int | None = None
    """Instances without an official verdict."""
    mean_over_benchmark: float | None = None
    """Official mean over the whole benchmark, missing instances counting 0."""
    problem: str = ""
    """What of it cannot be read; empty when all is well."""


class RunList(WireModel):
    """The whole answer."""

    schema_: Literal["obo_bench.runs.v1"] = Field("obo_bench.runs.v1", alias="schema")
    """Format name."""
    runs_root: str
    """Where was looked."""
    total: int
    """Records that are there."""
    runs: list[ListedRun]
    """The records, newest first, as many as were asked for."""


def list_runs(runs_root: Path, limit: int | None = None) -> RunList:
    """Return the records below a runs root, newest first, the first `limit` of them; none where there is no such root.

    Never raises for what a directory holds.
    """
    place_of_runs = without_dots(runs_root)
    places = [place for _, place in sorted(recorded(place_of_runs), key=itemgetter(0), reverse=True)]
    chosen = islice(places, limit)
    return RunList(runs_root=str(place_of_runs), total=len(places), runs=[listed(place) for place in chosen])


def listed(root: Path) -> ListedRun:
    """Return the entry of one directory."""
    try:
        return _listed(read_record(root))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return ListedRun(run_id=root.name, run_root=str(root), kind="other", problem=f"cannot be read: {error}")


def _listed(record: Record) -> ListedRun:
    manifest, extra = record.manifest, record.extra
    entry = ListedRun(
        run_id=record.root.name,
        run_root=str(record.root),
        kind=record.kind,
        benchmark=str(manifest.get("benchmark") or ""),
        command=str(manifest.get("command") or ""),
        outcome=record.outcome,
        alive=record.alive,
        exit_code=_count(extra.get("exit_code")),
        created_at_unix=number(manifest.get("created_at_unix")),
        finished_at_unix=number(extra.get("finished_at_unix")),
        requested=_count(manifest.get("requested_count")),
        completed=_count(extra.get("completed_count")),
        failed=_count(extra.get("failed_count")),
        not_attempted=_count(extra.get("not_attempted_count")),
        problem="; ".join(_problems(record)),
    )
    living = record.process.invocation if record.alive else None
    legs = legs_of(record.root, manifest, living, time.time())
    rows = _rows(record) if record.launched or extra.get("completed_count") is None else None
    told = {**_cost(extra.get("cost")), **_progress(record, rows), **_grade(record, rows)}
    return entry.model_copy(update={**legs.fields(), **told})


def _problems(record: Record) -> Iterator[str]:
    yield from record.problems
    if not record.manifest and not record.problems:
        yield "there is no manifest"
    if record.process.detail:
        yield record.process.detail


def _rows(record: Record) -> dict[str, Row] | None:
    """Return the last row of each instance; None where the ledger is not there, or too large for a list."""
    path = record.root / LEDGER_NAME
    return latest_rows(path) if path.is_file() and path.stat().st_size <= _LEDGER_BYTES else None


def _progress(record: Record, rows: Mapping[str, Row] | None) -> dict[str, Any]:
    """Return counts and cost by the ledger, where no ending has put them into the manifest."""
    if rows is None:
        return {}
    if record.extra.get("completed_count") is not None:
        return _unknown_costs(record, rows.values())
    statuses = [str(row.status) for row in rows.values()]
    return {
        "completed": statuses.count("completed") + statuses.count("skipped"),
        "failed": statuses.count("failed") + statuses.count("blocked"),
        "not_attempted": statuses.count("not_attempted"),
        **_cost(Account(rows.values()).document()),
    }


def _unknown_costs(record: Record, rows: Collection[Row]) -> dict[str, Any]:
    """Return what of a launcher's costs its rows leave open, where nobody knows more than they do."""
    told = _cost(record.extra.get("cost")).get("cost_usd")
    unknown = sum(row.status in BEGUN and usd(row.cost.get("usd")) is None for row in rows)
    if told is None or not unknown or told > Account(rows).sums()[0]:
        return {}
    return {"cost_unknown": unknown, "cost_is_lower_bound": True}


def _cost(told: object) -> dict[str, Any]:
    # What a launcher that records itself has counted is called `usd`.
    known = number(told.get("known_usd", told.get("usd"))) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or known is None:
        return {}
    return {
        "cost_usd": known,
        "cost_unknown": _count(told.get("unknown")),
        "cost_is_lower_bound": bool(told.get("lower_bound")),
    }


def _grade(record: Record, rows: Mapping[str, Row] | None) -> dict[str, Any]:
    summary = read_json_object(record.root / GRADE_SUMMARY_NAME)
    if summary is None:
        return _grade_by_rows(record, rows or {}) if record.launched else {}
    return {
        "passed": _count(summary.get("pass")),
        "not_passed": _count(summary.get("fail")),
        "ungraded": _count(summary.get("ungraded")),
        "mean_over_benchmark": number(summary.get("official_mean_over_benchmark")),
    }


def _grade_by_rows(record: Record, rows: Mapping[str, Row]) -> dict[str, Any]:
    told = row_grades(map(verdict_of, rows.values()), _count(record.manifest.get("requested_count")))
    return {"passed": told.passed, "not_passed": told.failed, "ungraded": told.ungraded} if told is not None else {}


def _count(value: object) -> int | None:
    found = number(value)
    return None if found is None else int(found)
