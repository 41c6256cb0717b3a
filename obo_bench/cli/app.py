"""The root of the command line."""

from typing import Annotated

import typer

from obo_bench import __version__
from obo_bench.cli import (
    attest,
    cancel,
    doctor,
    evaluate,
    export,
    gate,
    gc,
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
from obo_bench.cli.observed import observe
from obo_bench.cli.root import Root

app = typer.Typer(
    name="obo-bench",
    cls=Root,
    help="Run the official ProgramBench benchmark through a live Ouroboros server, and prove afterwards what was run.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(programbench.app, name="programbench")
cancel.register(programbench.app)
evaluate.register(programbench.app)
export.register(programbench.app)
gate.register(programbench.app)
gc.register(programbench.app)
prepare.register(programbench.app)
report.register(programbench.app)
settings.register(programbench.app)
status.register(programbench.app)
app.add_typer(practice.app, name="practice", short_help="Try all of it for real, without a server or money.")
attest.register(app)
doctor.register(app)
evaluate.register(app)
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
    """Run ProgramBench through a live Ouroboros server."""


observe(app)
