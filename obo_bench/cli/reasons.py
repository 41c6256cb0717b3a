"""`obo-bench reasons`: every reason an invocation can be refused for, from the one table."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from obo_bench.cli import answer, arguments
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, REASONS, STAGE_EXIT_CODES, Stage

WIDTH = 80
"""Columns of the text, with or without a terminal."""


def vocabulary() -> list[dict[str, Any]]:
    """Return every reason with its stage, exit status, waiver, weight and remedy, in the order of the gates."""
    return [
        {
            "reason": name,
            "stage": reason.stage.value,
            "exit_code": int(STAGE_EXIT_CODES[reason.stage]),
            "waived_by": reason.waiver or None,
            "campaign_fatal": name in CAMPAIGN_FATAL_PROVENANCE_REASONS,
            "remedy": reason.remedy,
        }
        for name, reason in REASONS.items()
    ]


def reasons(json_: arguments.Json = False) -> None:
    """List the reasons for which an invocation can be refused, and what to do about each.

    Example: obo-bench reasons --json
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    rows = vocabulary()
    answer.give("reasons", listing(rows), {"reasons": rows})


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
    indent = " " * 6
    remedy = textwrap.wrap(
        row["remedy"], WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return [head, *remedy]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reasons", short_help="List what an invocation can be refused for.")(reasons)
