"""`obo-bench programbench report`: one file that tells a run to people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, next_step, recorded_runs
from obo_bench.cli.panels import LOOK
from obo_bench.core.roots import forbidden_places
from obo_bench.programbench.leftovers.resuming import is_practice
from obo_bench.report.output_format import Format

if TYPE_CHECKING:
    from obo_bench.report.document.model import RunReport


def report(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Run or export: its id, or its directory. Default: the latest run.",
            autocompletion=completion.run_ids,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            parser=arguments.named_path,
            metavar="<path>",
            help="File for the report. Default: report.html (report.md, report.json) in the run.",
        ),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="Form of the report: a page, Markdown, or the numbers alone.")
    ] = Format.HTML,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            parser=arguments.text,
            metavar="RUN",
            help="Another run to compare with, instance by instance: its id, or its directory.",
            autocompletion=completion.run_ids,
        ),
    ] = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Write one file that tells a run: what was asked, what is proven, how it ended, scores, money, time, failures.

    Example: obo-bench programbench report full --compare baseline

    The page needs no network and no script, and can be mailed or printed. It also tells of runs that are at work,
    were killed or refused, and of exports. Nothing else of the run is changed.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.report.document.answer import ReportAnswer
    from obo_bench.report.named_record import named_record
    from obo_bench.report.write import Destination, write_report

    if quiet:
        answer.hush()
    checkout = recorded_runs.implied_checkout()
    runs = recorded_runs.known_runs_root(runs_root, checkout)
    root = named_record(run, runs)
    other = named_record(compare, runs) if compare is not None else None
    path = arguments.absolute(output) or root / f"report.{format_}"
    places = forbidden_places(checkout, arguments.implied_settings(checkout)) if output is not None else {}
    made = write_report(root, Destination(path, root, places), format_, other)
    answer.tell(_summary(made))
    _tell_next(made, root, format_)
    answer.give("programbench report", str(path), ReportAnswer.of(made, str(path), format_.value).document())


def _summary(made: "RunReport") -> str:
    counts = ", ".join(f"{count} {status}" for status, count in made.counts.items()) or "no instance"
    lines = [f"run {made.run.run_id}: {made.ending.outcome}; {counts}", *(f"note: {note}" for note in made.notes)]
    return "\n".join(lines)


def _tell_next(made: "RunReport", root: Path, form: Format) -> None:
    """Suggest to publish what has grades, and else to look at what a resume would do."""
    graded = made.scores is not None and made.scores.graded > 0 and made.ending.outcome == "completed"
    practice = is_practice({"requested_task_ids": [instance.instance_id for instance in made.instances]})
    words = next_step.of_run("programbench status", root)
    if graded and made.run.command == "programbench run" and not practice:
        words = ["obo-bench", "export", "--source", str(root), "--dest", f"{root}-leaderboard", "--leaderboard"]
    next_step.tell(words, "open the page in a browser" if form is Format.HTML else "")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report",
        short_help="Write one page that tells a run to people.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 written, 2 usage, 5 refused (run not found, file cannot be "
        "written): nothing was written.",
    )(report)
