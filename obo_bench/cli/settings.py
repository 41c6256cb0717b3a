"""`obo-bench programbench settings`: put the recommended profile into a server's settings file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from obo_bench.cli import answer, arguments, next_step
from obo_bench.cli.panels import GET_READY
from obo_bench.core.redact import process_redactor
from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.programbench.server_profile.change import SettingsChange

_WIDEST = 90


def settings(
    into: Annotated[
        Path,
        arguments.place("--into", "Settings file of the server."),
    ],
    solve_model: Annotated[
        str | None,
        typer.Option(
            "--solve-model",
            parser=arguments.text,
            metavar="<model>",
            help="Model that is to solve, instead of the profile's (OUROBOROS_MODEL and OUROBOROS_MODEL_HEAVY).",
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the file instead of only showing what differs.")
    ] = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Merge the recommended profile for ProgramBench into a server's settings file.

    Example: obo-bench programbench settings --into ~/data/settings.json --write

    Shows what differs. With --write it is written at once and whole, a copy of the old file is kept beside it, and what
    the profile does not name stays as it is. Keys and passwords are neither touched nor shown.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.programbench.server_profile.change import plan_change
    from obo_bench.programbench.server_profile.replace import write_change

    if quiet:
        answer.hush()
    plan = plan_change(into, solve_model)
    answer.tell(table(plan.change))
    change = write_change(plan) if write else plan.change
    answer.tell(_outcome(change))
    _tell_next(change, solve_model)
    answer.give("programbench settings", change.path, change.document())


def table(change: "SettingsChange") -> str:
    """Return one aligned line per setting that differs, and which keys are there."""
    rows = [
        (each.key, _shown(each.now) if each.present else "(not set)", _shown(each.profile)) for each in change.changes
    ]
    rows = [("key", "now", "profile"), *rows] if rows else []
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    there = [name for name, is_set in change.keys.items() if is_set]
    return "\n".join([*lines, f"keys and passwords, not touched: {', '.join(there) or 'none'} set"])


def _outcome(change: "SettingsChange") -> str:
    if not change.changes:
        return f"nothing to change: {change.path} has all that the profile wants"
    if not change.written:
        kept = "; --write keeps a copy of it" if change.present else ": there is no such file yet, --write makes it"
        return f"nothing was written{kept}"
    kept = f"; the old file is kept as {change.backup}" if change.backup else ""
    return (
        f"{len(change.changes)} settings written to {change.path}{kept}\n"
        "until the server is restarted it works with its old settings, and saving them in its own pages overwrites "
        "the file"
    )


def _tell_next(change: "SettingsChange", solve_model: str | None) -> None:
    look = ["obo-bench", "doctor", "--settings-path", change.path]
    if not change.changes:
        next_step.tell(look)
    elif change.written:
        next_step.tell(look, "restart the server")
    else:
        model = [] if solve_model is None else ["--solve-model", solve_model]
        next_step.tell(["obo-bench", "programbench", "settings", "--into", change.path, *model, "--write"])


def _shown(value: Any) -> str:
    text = printable(process_redactor().text(json.dumps(value, ensure_ascii=False)))
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "settings",
        short_help="Put the recommended profile into a server's settings.",
        rich_help_panel=GET_READY,
        epilog="Exit status: 0 shown, written, or nothing to change, 2 usage, 5 the file cannot be used or written. On "
        "stdout: the file.",
    )(settings)
