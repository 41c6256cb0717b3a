"""SWE-bench Pro on an evolving volume: one schedule of tasks that all live in the volume which the agent changes.

The schedule is a CSV with `idx` and `instance_id`, of which `--start` and `--limit` choose rows; `--out-dir` gets
`timeline.jsonl` and `predictions.jsonl`. Whatever the container's entry point finds wrong it says in one line,
`SOLVE_INFRA_SUSPECT reason=<reason>`, before it gives up, and what is wrong with the volume is wrong for every task
that is left: whoever drives the schedule has to stop before the volume is archived, which can take hours.
"""

import re
from collections.abc import Iterator
from io import BufferedReader
from itertools import islice
from pathlib import Path

from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Preset
from obo_bench.launch.presets.requesting import checked_id, csv_rows, ids_in, whole_number
from obo_bench.launch.presets.timeline import timeline_results

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MARK = re.compile(r"\bSOLVE_INFRA_SUSPECT\b", re.ASCII)
_REASON = re.compile(r"\breason=[\"']?([A-Za-z0-9][\w.:-]{0,99})", re.ASCII)
"""Without `reason=` the entry point only suspects: there were too few events."""


def announced_reason(line: str) -> str | None:
    """Return the reason that a line announces, wherever in it, whatever colours it has; None for a mere suspicion."""
    plain = _ANSI.sub("", line) if "\x1b" in line else line
    mark = _MARK.search(plain)
    reason = _REASON.search(plain, mark.end()) if mark else None
    return reason[1] if reason else None


def _schedule(launch: Launch) -> Path | None:
    """Return the CSV that the command names, under whichever option; None unless there is exactly one."""
    values = {word.rpartition("=")[2] if word.startswith("-") else word for word in launch.command}
    named = [value for value in values if value.endswith(".csv")]
    return launch.cwd / named[0] if len(named) == 1 else None


def _requested(launch: Launch) -> list[str] | None:
    path = _schedule(launch)
    if path is None:
        return None
    start = whole_number(launch.option("--start"), "--start", path) or 0
    limit = whole_number(launch.option("--limit"), "--limit", path)

    def rows(stream: BufferedReader, _path: Path) -> Iterator[str]:
        for position, row in islice(enumerate(csv_rows(stream)), start, None if limit is None else start + limit):
            _check_index(row.get("idx"), position, start)
            yield checked_id(row["instance_id"], f"row {position}", "instance_id")

    return ids_in(path, "the schedule", rows)


def _check_index(index: str | None, position: int, start: int) -> None:
    """Refuse a schedule whose rows are numbered otherwise: --start could mean either number."""
    if start and index is not None and index.strip() != str(position):
        raise ValueError(f"row {position} has the idx {index[:20]!r}, so it is unclear which one --start {start} means")


def _outputs(launch: Launch) -> dict[str, Path]:
    directory = launch.path("--out-dir")
    if directory is None:
        return {}
    return {"timeline": directory / "timeline.jsonl", "predictions": directory / "predictions.jsonl"}


SWE_BENCH_PRO_EVOLVING = Preset(
    name="swe-bench-pro-evolving",
    benchmark="swe-bench-pro-evolving",
    dataset="ScaleAI/SWE-bench_Pro",
    summary="SWE-bench Pro predictions in a volume that the agent changes as it goes",
    requests="`instance_id` of the rows of the CSV that `--start` and `--limit` choose",
    leaves="`timeline.jsonl` and `predictions.jsonl` of `--out-dir`",
    example="python evolve.py --csv schedule.csv --start 0 --limit 50 --volume-suffix a --out-dir out",
    requested=_requested,
    outputs=_outputs,
    results=lambda launch: timeline_results(launch, _outputs(launch)),
    announced=announced_reason,
    provenance_statuses=frozenset({2, 88}),
    needs_git_directory=True,
    needs_stamp=True,
)
