"""`obo-bench reasons`: why an invocation can be refused, and why an instance's row ended as it did; from the tables."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from obo_bench.cli import answer, arguments
from obo_bench.cli.panels import LOOK
from obo_bench.core.refusal_meanings import MEANINGS
from obo_bench.core.refusal_reasons import REASONS, Stage
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, STAGE_EXIT_CODES

WIDTH = 80
"""Columns of the text, with or without a terminal."""


def vocabulary() -> list[dict[str, Any]]:
    """Return every reason with its stage, exit status, waiver, meaning and remedy, in the order of the gates."""
    return [
        {
            "reason": name,
            "stage": reason.stage.value,
            "exit_code": int(STAGE_EXIT_CODES[reason.stage]),
            "waived_by": reason.waiver or None,
            "campaign_fatal": name in CAMPAIGN_FATAL_PROVENANCE_REASONS,
            "meaning": MEANINGS[name],
            "remedy": reason.remedy,
        }
        for name, reason in REASONS.items()
    ]


def row_vocabulary() -> list[dict[str, Any]]:
    """Return every reason of a ledger row with its meaning, its remedy and what a resume does."""
    from obo_bench.programbench.row_reasons import ROW_REASONS

    return [
        {"reason": name, "meaning": reason.meaning, "remedy": reason.remedy or None, "resume": reason.resume.value}
        for name, reason in ROW_REASONS.items()
    ]


def launcher_vocabulary() -> list[dict[str, Any]]:
    """Return every reason of ours that a row of another launcher can carry, with its meaning."""
    from obo_bench.core.result_reasons import LAUNCHER_REASONS

    return [{"reason": name, "meaning": meaning} for name, meaning in LAUNCHER_REASONS.items()]


def reasons(json_: arguments.Json = False) -> None:
    """List why an invocation can be refused and how an instance can end, and what to do about each.

    Example: obo-bench reasons --json
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    rows, row_reasons, launcher_reasons = vocabulary(), row_vocabulary(), launcher_vocabulary()
    text = "\n\n".join([listing(rows), row_listing(row_reasons), launcher_listing(launcher_reasons)])
    found = {"reasons": rows, "row_reasons": row_reasons, "launcher_reasons": launcher_reasons}
    answer.give("reasons", text, found)


def listing(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the vocabulary as plain text of at most 80 columns, grouped by gate."""
    width = max(len(row["reason"]) for row in rows)
    lines = ["A reason marked * holds for every remaining task: a campaign stops at once."]
    for stage in Stage:
        lines += ["", f"{stage.value} (exit status {int(STAGE_EXIT_CODES[stage])})"]
        for row in rows:
            if row["stage"] == stage.value:
                lines += _entry(row, width)
    return "\n".join(lines)


def _entry(row: Mapping[str, Any], width: int) -> list[str]:
    mark = "*" if row["campaign_fatal"] else " "
    waiver = f"waived by {row['waived_by']}" if row["waived_by"] else ""
    head = f"{mark} {row['reason']:<{width}}  {waiver}".rstrip()
    return [head, *_indented(row["meaning"]), *_indented(f"-> {row['remedy']}")]


def row_listing(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the reasons of ledger rows as plain text of at most 80 columns."""
    lines = ["How an instance can end (reason_code of its row); => is what a resume does."]
    for row in rows:
        lines += [f"  {row['reason']}", *_indented(row["meaning"])]
        lines += _indented(f"-> {row['remedy']}") if row["remedy"] else []
        lines += _indented(f"=> {row['resume']}")
    return "\n".join(lines)


def launcher_listing(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the reasons of other launchers' rows as plain text of at most 80 columns."""
    lines = [
        "How an instance of another launcher (`exec`, `benchmark_run`) can end. Any other",
        "word is the launcher's own. It decides itself what it does when it is repeated.",
    ]
    for row in rows:
        lines += [f"  {row['reason']}", *_indented(row["meaning"])]
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    indent = " " * 6
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "reasons",
        short_help="List all reasons of refusals and failures, with remedies.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 listed, 2 usage.",
    )(reasons)
