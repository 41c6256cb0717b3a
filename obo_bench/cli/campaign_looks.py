"""`obo-bench campaign check` and `campaign status`: look, and change nothing."""

from pathlib import Path
from typing import Annotated

import typer

from obo_bench.cli import answer, arguments, recorded_runs
from obo_bench.cli.campaign import DIRECTORY, CampaignId, File, campaign_directory, campaign_id
from obo_bench.cli.panels import LOOK
from obo_bench.core.refusals import UsageError

_CORRECT = "correct what the message names, and check it again"


def check(
    file: File,
    run_id: CampaignId = None,
    runs_root: arguments.RunsRoot = None,
    repo_dir: arguments.RepoDir = None,
    json_: arguments.Json = False,
) -> None:
    """Check a campaign file: keys, names, order, conditions, the options of each command, and the files it names.

    Example: obo-bench campaign check spring.toml

    What is wrong is told together; what can only be seen when that is right comes after it. The plan is shown when
    nothing is; nothing is started or asked.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.cli.campaign_table import plan_lines
    from obo_bench.cli.step_commands import RealCommandLines
    from obo_bench.launch.campaign.checking import examine
    from obo_bench.launch.campaign.options import with_defaults
    from obo_bench.launch.campaign.partly_read import read_partly
    from obo_bench.launch.campaign.plan_file import read_bytes, refused
    from obo_bench.launch.campaign.resolving import UNKNOWN_RUNS, Frame
    from obo_bench.launch.campaign.shown_plan import campaign_plan

    checkout = arguments.optional_checkout(repo_dir)
    runs = recorded_runs.known_runs_root(runs_root, checkout)
    campaign = campaign_id(file, run_id)
    plan, problems = read_partly(file, read_bytes(file))
    if plan is None:
        raise refused(file, problems, _CORRECT)
    given: dict[str, object] = {"runs_root": runs and str(runs), "repo_dir": checkout and str(checkout)}
    shared = with_defaults(given, plan.campaign.solve_model)
    known = runs is not None
    frame = Frame(campaign, runs or UNKNOWN_RUNS, file.absolute().parent, shared, known)
    steps, more = examine(plan, frame, RealCommandLines())
    if problems or more:
        raise refused(file, [*problems, *more], _CORRECT)
    shown = campaign_plan(steps, frame, plan.campaign.max_cost_usd)
    answer.give("campaign check", "\n".join(plan_lines(shown)), shown.document())


def status(
    campaign: Annotated[
        str | None,
        typer.Argument(
            metavar="CAMPAIGN", help="Campaign: its id, or its directory. Default: the latest.", show_default=False
        ),
    ] = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
) -> None:
    """Show how a campaign stands: state, outcome, status, cost and duration of each step, and what a resume would do.

    Example: obo-bench campaign status spring
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.cli.campaign_table import status_lines
    from obo_bench.launch.campaign.status import read_status

    runs = recorded_runs.known_runs_root(runs_root, recorded_runs.implied_checkout())
    found = read_status(campaign_directory(campaign, runs) if campaign is not None else _latest(runs))
    answer.give("campaign status", "\n".join(status_lines(found)), found.document())


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "check",
        short_help="Check a campaign file.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 it can be run, 2 usage, 5 something is wrong with it.",
    )(check)
    app.command(
        "status",
        short_help="Show how a campaign stands.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 shown, whatever became of it, 2 usage, 5 there is no such campaign, or it is damaged.",
    )(status)


def _latest(runs: Path | None) -> Path:
    from obo_bench.launch.campaign.record import RECORD_NAME

    if runs is None:
        raise UsageError("where runs are kept is not known: name a campaign's directory, or give --runs-root")
    # Whatever was refused, or only planned, has a manifest there, too.
    found = sorted((path.stat().st_mtime, path.parent) for path in (runs / DIRECTORY).glob(f"*/{RECORD_NAME}"))
    if not found:
        raise UsageError(f"there is no campaign in {str(runs / DIRECTORY)!r}: name one, or correct --runs-root")
    return found[-1][1]
