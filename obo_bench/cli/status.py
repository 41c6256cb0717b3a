"""`obo-bench programbench status`: how a run stands, seen from another terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, recorded_runs

if TYPE_CHECKING:
    from obo_bench.report.status.collect import StatusReader


def status(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run, export, preparation or attestation: its id, or its directory. Default: the latest run.",
            autocompletion=completion.run_ids,
            show_default=False,
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until the run's process has ended.")] = False,
    interval_sec: Annotated[
        float, typer.Option("--interval-sec", min=0.2, max=3600, help="Seconds from one look to the next.")
    ] = 2.0,
    ouroboros_url: recorded_runs.ServerUrl = None,
    runs_root: arguments.RunsRoot = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Answer with one JSON object; with --watch one line of JSON per change.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Of --watch show only the end.")] = False,
) -> None:
    """Show how a run stands: its process, server, money and instances, and what a resume would do if it is over.

    Example: obo-bench programbench status --watch

    Read from the run's files, and asked of its server and engine where they answer within seconds; nothing is changed.
    Without a terminal --watch writes a line per change. Ctrl-C ends the watching (130), never the run.
    """
    from obo_bench.cli.status_text import status_lines
    from obo_bench.report.named_record import named_record
    from obo_bench.report.status.collect import StatusReader

    address = arguments.address(ouroboros_url) if ouroboros_url is not None else None
    arguments.finite("--interval-sec", interval_sec)
    runs = recorded_runs.known_runs_root(runs_root, recorded_runs.implied_checkout())
    reader = StatusReader(named_record(run, runs), address)
    if watch:
        _watch(reader, interval_sec, json_=json_, quiet=quiet)
        return
    found = reader.read()
    answer.give("programbench status", "\n".join(status_lines(found)), found.document())


def _watch(reader: "StatusReader", interval_sec: float, *, json_: bool, quiet: bool) -> None:
    from obo_bench.cli.status_watch import JsonLines, LastOnly, display, watch_run

    # From here on the answer is what the watch shows, also when it is interrupted.
    answer.silence()
    shown = JsonLines() if json_ else display()
    with LastOnly(shown) if quiet else shown as looker:
        watch_run(reader, interval_sec, looker)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "status",
        short_help="Show how a run stands, and what a resume would do.",
        epilog="Exit status: 0 shown, whatever became of the run (--watch: its process has ended), 2 usage, 5 there is "
        "no such run or it cannot be read, 130 Ctrl-C.",
    )(status)
