"""`obo-bench runs`: what is recorded below the runs root, the newest first."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, recorded_runs
from obo_bench.cli.panels import LOOK
from obo_bench.cli.status_text import duration
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.report.run_list import ListedRun, RunList

_COLUMNS = (
    *("RUN", "BENCHMARK", "KIND", "OUTCOME", "BEGUN", "TOOK", "DONE", "FAILED", "LEFT", "COST", "GRADE", "PROBLEM"),
)
_NOTHING = "-"
_LONGEST = 200


def runs(
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="<n>", help="Number of runs to list, the newest. Default: all."),
    ] = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
) -> None:
    """List all records of every benchmark with outcome, counts, cost in USD and grade, the newest first.

    Example: obo-bench runs --limit 20

    One line each, in columns without blanks: `obo-bench runs | awk 'NR > 1 {print $1}'` gives the ids. Under GRADE is
    pass/fail/ungraded, and the official mean over the benchmark; `>=` before a cost means that more may be spent.
    BENCHMARK is there where records of several are listed.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.report.run_list import list_runs

    place = recorded_runs.known_runs_root(runs_root, recorded_runs.implied_checkout())
    if place is None:
        raise UsageError("where runs are kept is not known: give --runs-root, or set OUROBOROS_BENCH_RUNS_ROOT")
    found = list_runs(place, limit)
    if not found.runs:
        answer.say(f"there is no run below {found.runs_root}")
    elif len(found.runs) < found.total:
        answer.say(f"the newest {len(found.runs)} of {found.total}")
    answer.give("runs", "\n".join(_lines(found)), found.document())


def _lines(found: "RunList") -> list[str]:
    if not found.runs:
        return []
    rows = [_COLUMNS, *map(_cells, found.runs)]
    shown = [at for at, name in enumerate(_COLUMNS) if _is_shown(name, [row[at] for row in rows[1:]])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    return ["  ".join(f"{row[at]:<{widths[at]}}" for at in shown).rstrip() for row in rows]


def _is_shown(column: str, cells: list[str]) -> bool:
    """Leave out what tells nothing: a benchmark that all have in common, problems where there are none."""
    told = {cell for cell in cells if cell != _NOTHING}
    return len(told) > 1 if column == "BENCHMARK" else bool(told) or column != "PROBLEM"


def _cells(run: "ListedRun") -> tuple[str, ...]:
    begun = run.begun_at_unix
    took = (
        f"{'>=' if run.worked_is_lower_bound else ''}{duration(run.worked_sec)}" if run.worked_sec is not None else ""
    )
    cells = (
        run.run_id,
        run.benchmark,
        run.kind,
        "at_work" if run.alive else run.outcome,
        time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(begun)) if begun is not None else "",
        took,
        "" if run.completed is None else f"{run.completed}/{'?' if run.requested is None else run.requested}",
        _number(run.failed),
        _number(run.not_attempted),
        _cost(run),
        _grade(run),
        run.problem,
    )
    return (*map(_cell, cells[:-1]), printable(cells[-1])[:_LONGEST] or _NOTHING)


def _cost(run: "ListedRun") -> str:
    if run.cost_usd is None:
        return ""
    if not run.cost_usd and run.cost_unknown:
        return "unknown"
    return f"{'>=' if run.cost_is_lower_bound else ''}{run.cost_usd:.2f}"


def _grade(run: "ListedRun") -> str:
    if run.passed is None:
        return ""
    mean = "" if run.mean_over_benchmark is None else f"={run.mean_over_benchmark:.4f}"
    return f"{run.passed}/{_number(run.not_passed)}/{_number(run.ungraded)}{mean}"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _cell(text: str) -> str:
    """Return one word, so that a line can be split at blanks."""
    return "_".join(printable(text)[:_LONGEST].split()) or _NOTHING


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "runs",
        short_help="List what is recorded, the newest first.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 listed (also when there is nothing), 2 usage.",
    )(runs)
