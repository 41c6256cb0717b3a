"""`obo-bench programbench status`: how a run stands, seen from another terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, next_step, recorded_runs
from obo_bench.cli.panels import LOOK
from obo_bench.programbench.leftovers.resuming import is_practice

if TYPE_CHECKING:
    from obo_bench.report.status.collect import StatusReader
    from obo_bench.report.status.document import RunStatus


def status(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Run, export, preparation or attestation: its id, or its directory. Default: the latest run.",
            autocompletion=completion.run_ids,
            show_default=False,
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until the run's process has ended.")] = False,
    interval_sec: Annotated[
        float,
        typer.Option("--interval-sec", metavar="<sec>", min=0.2, max=3600, help="Seconds from one look to the next."),
    ] = 2.0,
    ouroboros_url: recorded_runs.ServerUrl = None,
    runs_root: arguments.RunsRoot = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Answer with one JSON object; with --watch one line of JSON per change.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show only the end of --watch, and no hint.")] = False,
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
    if quiet:
        answer.hush()
    answer.give("programbench status", "\n".join(status_lines(found)), found.document())
    if words := _next(found):
        next_step.tell(words)


def _next(found: "RunStatus") -> list[str]:
    """Return what comes next; nothing where the answer itself ends with the command of the resume."""
    from obo_bench.cli.status_text import leaves_all_alone

    if found.process.state == "alive":
        return next_step.of_run("programbench status", found.run_root, "--watch")
    if found.resume is not None and not leaves_all_alone(found.resume):
        return []
    practice = is_practice({"requested_task_ids": [instance.instance_id for instance in found.instances]})
    solved = found.outcome == "completed" or (found.outcome == "instances_failed" and "completed" in found.totals)
    if found.kind == "run" and found.grades is None and solved and not practice:
        return next_step.of_run("eval", found.run_root)
    return next_step.of_run("programbench report", found.run_root) if found.instances else []


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
        rich_help_panel=LOOK,
        epilog="Exit status: 0 shown, whatever became of the run (--watch: its process has ended), 2 usage, 5 there is "
        "no such run or it cannot be read, 130 Ctrl-C.",
    )(status)
