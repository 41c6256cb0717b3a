"""`obo-bench campaign ...`: many commands, driven by one file."""

from pathlib import Path
from typing import Annotated

import typer

from obo_bench.cli import answer, arguments, recorded_runs
from obo_bench.cli.panels import RUN
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import check_run_id
from obo_bench.core.roots import runs_root as place_of_runs
from obo_bench.launch.campaign.options import CampaignOptions

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DIRECTORY = "campaign"
"""Directory of the campaigns below the runs root."""
_EXITS = (
    "Exit status: 0 all steps completed, 1 some instances or a step failed, or a gate said NO-GO, 2 usage, 3-5 refused "
    "before anything was spent, 6 ungraded, or a gate is INCONCLUSIVE, 7 stopped, 8 paused at a ceiling, 129/130/143 "
    "signal; after a step that was refused, its status."
)
File = Annotated[
    Path,
    typer.Argument(parser=arguments.named_path, metavar="FILE", help="Campaign file (TOML); see docs/campaigns.md."),
]
CampaignId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="<id>",
        help="Id of the campaign; give it again to resume. Default: the file's name without its ending.",
    ),
]
Campaign = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Campaign: its id, or its directory.")]
Url = Annotated[
    str | None,
    typer.Option(
        "--ouroboros-url", metavar="<url>", help="Address of the Ouroboros server. Default: http://127.0.0.1:8770."
    ),
]
_RECORDED = "else as it was recorded."
RecordedRepoDir = Annotated[
    Path | None,
    arguments.place(
        "--repo-dir",
        f"Checkout that the server runs from. Default: OUROBOROS_REPO_DIR, {_RECORDED}",
    ),
]
RecordedUrl = Annotated[
    str | None,
    typer.Option(
        "--ouroboros-url", metavar="<url>", help="Address of the Ouroboros server. Default: as it was recorded."
    ),
]
RecordedSettingsPath = Annotated[
    Path | None,
    arguments.place(
        "--settings-path",
        f"Settings file of the server. Default: OUROBOROS_SETTINGS_PATH, {_RECORDED}",
    ),
]
RecordedRunsRoot = Annotated[
    Path | None,
    arguments.place(
        "--runs-root",
        "Directory of all runs. Default: as recorded; for an id OUROBOROS_BENCH_RUNS_ROOT, else bench_runs/ "
        "beside the checkout.",
    ),
]
Ceiling = Annotated[
    float | None,
    typer.Option(
        "--max-cost-usd", metavar="<usd>", min=0, help="Ceiling of all steps together in USD; wins over the file's."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the plan with its tasks and its worst cost; start and ask nothing.")
]


@app.callback()
def group() -> None:
    """Run a campaign: steps of run, eval, gate, export, attest and exec, from one file.

    Example: obo-bench campaign run spring.toml --repo-dir ~/ouroboros --dry-run
    """


@app.command("run", short_help="Run a campaign file; again to resume.", rich_help_panel=RUN, epilog=_EXITS)
def run(
    file: File,
    repo_dir: arguments.RepoDir = None,
    ouroboros_url: Url = None,
    solve_model: arguments.SolveModel = None,
    settings_path: arguments.SettingsPath = None,
    run_id: CampaignId = None,
    runs_root: arguments.RunsRoot = None,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    max_cost_usd: Ceiling = None,
    dry_run: DryRun = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Run the steps of a campaign file in their order, each as a command of its own.

    Example: obo-bench campaign run spring.toml --repo-dir ~/ouroboros --max-cost-usd 200

    The campaign's id is the file's name unless --run-id says otherwise. Before each step the server and the money are
    asked for. Repeat the command, or `campaign resume`, to go on after a pause, an interrupt or a crash.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.checkout(repo_dir)
    runs = place_of_runs(runs_root, checkout)
    settings, named = arguments.settings_place(settings_path, checkout)
    options = CampaignOptions(
        command="campaign run",
        run_root=runs / DIRECTORY / campaign_id(file, run_id),
        runs_root=runs,
        repo_dir=checkout,
        settings_path=settings,
        settings_named=named,
        file=file.absolute(),
        url=None if ouroboros_url is None else arguments.address(ouroboros_url),
        solve_model=solve_model,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp,
        ),
        expected_version=expected_version,
        max_cost_usd=arguments.finite_if_given("--max-cost-usd", max_cost_usd),
        quiet=quiet,
    )
    _drive(options, dry_run=dry_run, quiet=quiet, verbose=verbose)


@app.command("resume", short_help="Go on with a campaign.", rich_help_panel=RUN, epilog=_EXITS)
def resume(
    campaign: Campaign,
    repo_dir: RecordedRepoDir = None,
    ouroboros_url: RecordedUrl = None,
    solve_model: arguments.SolveModel = None,
    settings_path: RecordedSettingsPath = None,
    runs_root: RecordedRunsRoot = None,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    max_cost_usd: Ceiling = None,
    dry_run: DryRun = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Go on with a campaign that paused, was interrupted, or died.

    Example: obo-bench campaign resume spring --max-cost-usd 400

    Steps that are done are skipped, a step that is still at work is waited for, one that died is started again under
    its own run id. What is not said again is as it was recorded.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.absolute(repo_dir)
    root, runs = _resumed_place(campaign, runs_root, checkout)
    settings, named = arguments.settings_place(settings_path, checkout) if checkout else (settings_path, False)
    options = CampaignOptions(
        command="campaign resume",
        run_root=root,
        runs_root=runs,
        runs_named=runs_root is not None or "/" not in campaign,
        repo_dir=checkout,
        settings_path=arguments.absolute(settings),
        settings_named=named or settings_path is not None,
        url=None if ouroboros_url is None else arguments.address(ouroboros_url),
        solve_model=solve_model,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp,
        ),
        expected_version=expected_version,
        max_cost_usd=arguments.finite_if_given("--max-cost-usd", max_cost_usd),
        quiet=quiet,
    )
    _drive(options, dry_run=dry_run, quiet=quiet, verbose=verbose)


def _resumed_place(campaign: str, runs_root: Path | None, checkout: Path | None) -> tuple[Path, Path]:
    """Return the directory of a campaign that is to be resumed, and the runs root that it lies in."""
    named = recorded_runs.known_runs_root(runs_root, checkout or recorded_runs.implied_checkout())
    root = campaign_directory(campaign, named)
    return root, runs_root.absolute() if runs_root else root.parent.parent


def campaign_directory(named: str, runs: Path | None) -> Path:
    """Return the directory of a campaign named by its id, or by a path with a slash in it; raises UsageError."""
    if "/" in named or named in (".", ".."):
        return Path(named).absolute()
    if not named:
        raise UsageError("CAMPAIGN is empty: name a campaign by its id or directory")
    if runs is None:
        raise UsageError(f"CAMPAIGN {named!r}: where runs are kept is not known: give --runs-root")
    return runs / DIRECTORY / check_run_id(named, "CAMPAIGN")


def campaign_id(file: Path, run_id: str | None) -> str:
    """Return --run-id, else the file's name: the file itself is not looked at before the campaign is on record."""
    if run_id is not None:
        return check_run_id(run_id)
    if file.name in ("", ".."):
        raise UsageError(f"FILE {str(file)!r} is a directory: name a campaign file (TOML)")
    try:
        return check_run_id(file.stem)
    except UsageError as error:
        raise UsageError(f"the file's name {file.name!r} is no name for a campaign: give --run-id ID") from error


def _drive(options: CampaignOptions, *, dry_run: bool, quiet: bool, verbose: bool) -> None:
    from obo_bench.cli.campaign_table import plan_lines, status_lines
    from obo_bench.cli.step_commands import RealCommandLines
    from obo_bench.core.display import Display
    from obo_bench.launch.campaign.campaign import plan_campaign, run_campaign

    if quiet and verbose:
        raise UsageError("-q and -v exclude each other: give one of them")
    if quiet:
        answer.hush()
    # Plain lines, also on a terminal: the board there is the running step's.
    reporter = Display(quiet=quiet, verbose=verbose)
    if dry_run:
        plan = plan_campaign(options, RealCommandLines(), reporter)
        answer.tell("\n".join(plan_lines(plan)))
        answer.give(options.command, str(options.run_root), plan.document())
        return
    found = run_campaign(options, RealCommandLines(), reporter)
    answer.tell("\n".join(status_lines(found)))
    answer.give(options.command, str(options.run_root), found.document())
