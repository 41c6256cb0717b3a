"""The root of the command line."""

from typing import Annotated

import typer

from obo_bench import __version__
from obo_bench.cli import (
    attest,
    campaign,
    campaign_looks,
    cancel,
    doctor,
    evaluate,
    export,
    gate,
    gc,
    grade,
    ledger,
    practice,
    prepare,
    programbench,
    reasons,
    report,
    runs,
    schema,
    settings,
    status,
)
from obo_bench.cli import exec as exec_command
from obo_bench.cli.observed import observe
from obo_bench.cli.panels import GET_READY, GRADE, OTHER_LAUNCHERS, RUN
from obo_bench.cli.root import Root

app = typer.Typer(
    name="obo-bench",
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(
    programbench.app,
    name="programbench",
    short_help="The official ProgramBench benchmark: run, status, report, ...",
    rich_help_panel=RUN,
)
cancel.register(programbench.app)
evaluate.register(programbench.app)
export.register(programbench.app)
gate.register(programbench.app)
gc.register(programbench.app)
prepare.register(programbench.app)
report.register(programbench.app)
settings.register(programbench.app)
status.register(programbench.app)
app.add_typer(
    practice.app,
    name="practice",
    short_help="Try all of it for real, without a server or money.",
    rich_help_panel=GET_READY,
)
app.add_typer(
    campaign.app,
    name="campaign",
    short_help="Run many commands from one file: run, check, status, resume.",
    rich_help_panel=RUN,
)
campaign_looks.register(campaign.app)
app.add_typer(
    grade.app,
    name="grade",
    short_help="Grade the official results of other benchmarks.",
    rich_help_panel=GRADE,
)
app.add_typer(
    ledger.app,
    name="ledger",
    short_help="Append rows to the ledger of a launcher's run.",
    rich_help_panel=OTHER_LAUNCHERS,
)
attest.register(app)
doctor.register(app)
evaluate.register(app)
exec_command.register(app)
export.register(app)
prepare.register(app)
reasons.register(app)
runs.register(app)
schema.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"obo-bench {__version__}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run the official ProgramBench benchmark through a live Ouroboros server, and prove afterwards what was run.

    Example: obo-bench practice --scenario partial
    """


observe(app)
