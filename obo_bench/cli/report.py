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
        arguments.place(
            "--output",
            "File for the report. Default: report.html (report.md, report.json) in the run.",
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
    from obo_bench.report.counts import counted

    notes = [*([made.run.practice] if made.run.practice else []), *(f"note: {note}" for note in made.notes)]
    told = f"run {made.run.run_id}: {made.ending.outcome}; {counted(made.counts) or 'no instance'}"
    return "\n".join([told, *notes])


def _tell_next(made: "RunReport", root: Path, form: Format) -> None:
    """Suggest to publish what has grades, and to look at what a resume would do where it would do something."""
    graded = made.scores is not None and made.scores.graded > 0 and made.ending.outcome == "completed"
    practice = is_practice({"requested_task_ids": [instance.instance_id for instance in made.instances]})
    first = "open the page in a browser" if form is Format.HTML else ""
    if graded and made.run.command == "programbench run" and not practice:
        publish = ["obo-bench", "export", "--source", str(root), "--dest", f"{root}-leaderboard", "--leaderboard"]
        next_step.tell(publish, first)
    elif not _rests(made):
        next_step.tell(next_step.of_run("programbench status", root), first)


def _rests(made: "RunReport") -> bool:
    """Say whether the run is over, and a resume would leave all of it alone."""
    from obo_bench.programbench.row_reasons import Resume, explain

    steps = {explain(instance.reason).resume for instance in made.instances}
    told = all(instance.status in ("completed", "skipped", "failed", "blocked") for instance in made.instances)
    return made.ending.outcome in ("completed", "instances_failed") and told and steps <= {Resume.DONE, Resume.KEEPS}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report",
        short_help="Write one page that tells a run to people.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 written, 2 usage, 5 refused (run not found, file cannot be "
        "written): nothing was written.",
    )(report)
