"""What a shell offers for values: the ids of instances and runs, reasons, scenarios, formats.

A shell waits for it at every key: nothing heavy is imported, nothing is asked over a network, and nothing ever fails.
"""

import functools
import importlib.util
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

RETRIED = (
    "cancelled_by_operator",
    "checkpoint_unreadable",
    "degraded",
    "image_not_found",
    "task_not_completed",
    "task_unknown_to_server",
)
"""Reasons for which a resume solves an instance again only when told to; where they are decided, too much is loaded."""
SCENARIOS = (
    *("agent-failure", "broken-build", "budget-exhausted", "budget-paused", "huge-record", "infra", "instant"),
    *("long-command", "other-daemon", "partial", "priced", "provider-degraded", "solved", "unknown-reason", "unpriced"),
    "worker-crash",
)
"""The scenarios of the scripted solver; likewise."""
_MOST_OF_A_LEDGER = 4 * 1024 * 1024
_FAILED = re.compile(rb'"status": *"(?:failed|blocked)", *"reason_code": *"([a-z0-9_]+)"')
"""A row's fields in the order in which the ledger writes them; its model would take too long to load."""
Completer = Callable[[typer.Context, str], list[str]]


def completer(values: Callable[[typer.Context, str], Iterable[str]]) -> Completer:
    """Return a completer that offers those of `values` that begin as the word does, and nothing where that fails."""

    @functools.wraps(values)
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [value for value in values(ctx, incomplete) if value.startswith(incomplete)]
        except Exception:  # noqa: BLE001  # a completion that fails would write a traceback into the operator's prompt
            return []

    return complete


@completer
def instance_ids(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the instances of the installed benchmark: the names of its directories."""
    del ctx, incomplete
    return sorted(entry.name for tasks in _task_directories() for entry in os.scandir(tasks) if entry.is_dir())


@completer
def run_ids(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the runs of the runs root, newest first."""
    from obo_bench.report.known_runs import known_run_ids

    return known_run_ids(_runs_root(ctx), incomplete)


@completer
def retry_reasons(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer what --retry takes: what the run's instances ended with, if it is named already, and our own words."""
    del incomplete
    return sorted({*RETRIED, *_ended_with(ctx)})


@completer
def scenarios(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the scenarios of the scripted solver."""
    del ctx, incomplete
    return SCENARIOS


@completer
def formats(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the wire formats."""
    del ctx, incomplete
    from obo_bench.report.wire_formats import FORMATS

    return FORMATS


def _task_directories() -> list[Path]:
    """Return where the package keeps its tasks; it is looked for and not imported, which would take a second."""
    found = importlib.util.find_spec("programbench")
    places = found.submodule_search_locations if found is not None else None
    return [tasks for place in places or () if (tasks := Path(place) / "data" / "tasks").is_dir()]


def _ended_with(ctx: typer.Context) -> set[str]:
    from obo_bench.core.peek import peek
    from obo_bench.report.known_runs import RUNS

    runs_root, run_id = _runs_root(ctx), ctx.params.get("run_id")
    if runs_root is None or not run_id:
        return set()
    ledger = peek(runs_root / RUNS / run_id / "result_index.jsonl", _MOST_OF_A_LEDGER)
    return {found[1].decode() for found in _FAILED.finditer(ledger)}


def _runs_root(ctx: typer.Context) -> Path | None:
    from obo_bench.cli import arguments, recorded_runs

    if practised := ctx.params.get("directory"):
        return Path(practised) / "bench_runs"
    named, repo_dir = (Path(typed) if (typed := ctx.params.get(name)) else None for name in ("runs_root", "repo_dir"))
    checkout = arguments.optional_checkout(repo_dir) if repo_dir else recorded_runs.implied_checkout()
    return recorded_runs.known_runs_root(named, checkout)
