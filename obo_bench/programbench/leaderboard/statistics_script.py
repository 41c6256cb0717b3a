"""Computes cost, calls and tokens of a leaderboard directory from the records in it, for anyone to repeat.

    python3 _scripts/statistics_script.py [DIRECTORY]

prints what it finds, compares it with `_stats/*.json`, and ends with status 1 where they differ. It needs nothing but
Python. Every attempt that had a task counts, failed and repeated ones too, as the run's own ledger tells them, which
outlives the directory of an instance; an instance has a value only when all of its attempts have one. Unknown is
absent, never 0.

* cost: USD, as the server's closed account says; an amount that is only a lower bound is no value.
* calls: model calls up to the end of the agent's work, its reviewers' included. The few that the server makes after
  it (summary, reflection) are not in its records.
* tokens: prompt and completion tokens of these calls.
"""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("cost", "calls", "tokens")
RECORDS = "_record/run"
"""Directory that mirrors the records of the run; not one level up, where a ledger would pass for an instance's."""
LEDGER = "result_index.jsonl"


def statistics(directory: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by name, `values` and `unknown` (why) by instance id, for all instances with an official result."""
    found: dict[str, dict[str, dict[str, Any]]] = {name: {"values": {}, "unknown": {}} for name in NAMES}
    told = list(ledger_rows(directory / RECORDS / LEDGER))
    for instance in sorted(path.name for path in directory.iterdir() if _is_graded(path)):
        records = directory / RECORDS / instance
        rows = [row for row in told if row.get("instance_id") == instance]
        for name, value in _of_instance(records, rows or list(ledger_rows(records / LEDGER))).items():
            found[name]["unknown" if isinstance(value, str) else "values"][instance] = value
    return found


def stats_text(values: dict[str, Any]) -> str:
    """Return the content of a file of `_stats`, which is a flat map of instance to value."""
    return json.dumps(values, indent=2, sort_keys=True) + "\n"


def _is_graded(path: Path) -> bool:
    return (path / f"{path.name}.eval.json").is_file()


def _of_instance(records: Path, rows: list[dict[str, Any]]) -> dict[str, float | str]:
    charges, tasks = charged_attempts(rows), _task_records(records)
    told = {_attempt(row) for row in rows if row.get("status") != "not_attempted"}
    # A task of which only a checkpoint is left has cost something, too.
    charges |= {attempt: {} for attempt in tasks if attempt not in told}
    if not charges:
        return dict.fromkeys(NAMES, "no attempt with a task is on record")
    return {
        "cost": _total({attempt: _cost(charge) for attempt, charge in charges.items()}),
        "calls": _total({attempt: _calls(tasks.get(attempt)) for attempt in charges}),
        "tokens": _total({attempt: _tokens(tasks.get(attempt)) for attempt in charges}),
    }


def charged_attempts(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the cost of each attempt that had a task; a later row counts, but never an unknown cost over a known."""
    charges: dict[int, dict[str, Any]] = {}
    for row in rows:
        cost, details, attempt = _mapping(row.get("cost")), _mapping(row.get("details")), _attempt(row)
        if (cost or details.get("task_id")) and (attempt not in charges or _amount(cost.get("usd")) is not None):
            charges[attempt] = cost
    return charges


def ledger_rows(ledger: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ledger; what is no row is passed over."""
    for line in ledger.read_bytes().splitlines() if ledger.is_file() else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue  # torn by a kill, or foreign
        if isinstance(row, dict):
            yield row


def _task_records(records: Path) -> dict[int, dict[str, Any] | str]:
    """Return the server's record of each attempt, or why there is none, by attempt."""
    found: dict[int, dict[str, Any] | str] = {}
    for directory in (*sorted((records / "attempts").glob("*")), records):
        checkpoint = _document(directory / "ouroboros_task_checkpoint.json")
        record = _document(directory / "ouroboros_task_result.json") or _mapping(checkpoint.get("task_result"))
        attempt = _attempt(checkpoint)
        if not checkpoint or (not record and attempt in found):
            continue
        same = record.get("task_id", checkpoint.get("task_id")) == checkpoint.get("task_id")
        found[attempt] = record if same else "the server repeated the task itself and counts its last try only"
    return found


def _document(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return _mapping(value)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _attempt(document: dict[str, Any]) -> int:
    number = document.get("attempt", 1)
    return number if isinstance(number, int) else 1


def _cost(charge: dict[str, Any]) -> float | str:
    amount = _amount(charge.get("usd"))
    if amount is None:
        return "the server does not say what it cost"
    if charge.get("lower_bound", not charge.get("final")):
        return f"it cost at least {amount:g} USD"
    return amount


def _calls(record: dict[str, Any] | str | None) -> float | str:
    return _counted(record, "total_rounds")


def _tokens(record: dict[str, Any] | str | None) -> float | str:
    parts = [_counted(record, name) for name in ("prompt_tokens", "completion_tokens")]
    unknown = [part for part in parts if isinstance(part, str)]
    total = sum(part for part in parts if not isinstance(part, str))
    if not unknown and not total and _calls(record) != 0:
        return "the server has counted no tokens"
    return unknown[0] if unknown else total


def _counted(record: dict[str, Any] | str | None, name: str) -> float | str:
    if isinstance(record, str):
        return record
    if not record:
        return "there is no record of the server's"
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return f"the server's record has no {name}"
    return value


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return value


def _total(by_attempt: dict[int, float | str]) -> float | str:
    unknown = [f"attempt {number}: {why}" for number, why in sorted(by_attempt.items()) if isinstance(why, str)]
    if unknown:
        return "; ".join(unknown)
    return round(sum(value for value in by_attempt.values() if not isinstance(value, str)), 6)


def main(arguments: list[str]) -> int:
    """Print and compare; returns the exit status."""
    directory = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    status = 0
    for name, found in statistics(directory).items():
        same = _document(directory / "_stats" / f"{name}.json") == found["values"]
        status = status if same else 1
        verdict = "as in _stats" if same else "NOT as in _stats"
        print(json.dumps({name: found}, indent=2, sort_keys=True), verdict)  # noqa: T201  # a script for people
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
