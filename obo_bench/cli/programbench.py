"""`obo-bench programbench ...`."""

from enum import StrEnum
from typing import Annotated

import typer

from obo_bench.cli import answer, arguments, attest, selection_arguments
from obo_bench.cli.grade_table import grade_lines
from obo_bench.cli.panels import RUN, HelpfulGroup
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.gateway import DEFAULT_URL
from obo_bench.programbench.options import DEFAULT_CPUS, DEFAULT_MEMORY, DEFAULT_TIMEOUT_SEC, RunOptions
from obo_bench.programbench.selection import Selector

app = typer.Typer(cls=HelpfulGroup, no_args_is_help=True, rich_markup_mode=None)


class Pull(StrEnum):
    """When images are pulled."""

    MISSING = "missing"
    ALWAYS = "always"


class Interrupt(StrEnum):
    """What a signal does to running tasks."""

    DETACH = "detach"
    CANCEL = "cancel"


attest.register(app)


@app.callback()
def group() -> None:
    """Run the official ProgramBench benchmark, look at its runs, grade and publish them.

    Example: obo-bench programbench run --repo-dir ~/ouroboros --slice 3 --eval
    """


@app.command(
    "run",
    short_help="Solve and grade instances through a live Ouroboros server.",
    rich_help_panel=RUN,
    epilog="Exit status: 0 all done, 1 some instance failed, 2 usage, 3-5 refused before anything was spent, "
    "6 not graded, 7 stopped, 8 the spending ceiling is reached, 129/130/143 signal.",
)
def run(
    repo_dir: arguments.RepoDir = None,
    ouroboros_url: arguments.OuroborosUrl = DEFAULT_URL,
    solve_model: arguments.SolveModel = None,
    settings_path: arguments.SettingsPath = None,
    difficulty: selection_arguments.Difficulty = None,
    language: selection_arguments.Language = None,
    instance_id: selection_arguments.InstanceId = None,
    ids_file: selection_arguments.IdsFile = None,
    filter_: selection_arguments.Filter = "",
    slice_: selection_arguments.Slice = "",
    shuffle: selection_arguments.Shuffle = False,
    run_id: arguments.RunId = None,
    runs_root: arguments.RunsRoot = None,
    workers: Annotated[int, typer.Option(min=1, max=256, metavar="<n>", help="Instances at work at a time.")] = 1,
    timeout_sec: Annotated[
        float, typer.Option(min=1, metavar="<sec>", help="Deadline of one task, in seconds.")
    ] = DEFAULT_TIMEOUT_SEC,
    cpus: Annotated[float, typer.Option(min=0.1, metavar="<n>", help="Cores of one cleanroom.")] = DEFAULT_CPUS,
    memory: Annotated[
        str, typer.Option(metavar="<size>", help="Memory of one cleanroom, such as 16g.")
    ] = DEFAULT_MEMORY,
    protected_path: Annotated[
        list[str] | None,
        typer.Option(metavar="<path>", help="Artifact that the agent may only run; replaces the default; repeatable."),
    ] = None,
    redo_existing: Annotated[
        bool, typer.Option(help="Solve done instances again; the earlier attempt is kept.")
    ] = False,
    retry: arguments.Retry = None,
    skip_pull: Annotated[
        bool, typer.Option("--skip-pull", help="Pull nothing: use only images that are on the engine.")
    ] = False,
    pull: Annotated[Pull, typer.Option(help="When to pull images.")] = Pull.MISSING,
    pin_digests: arguments.PinDigests = None,
    allow_image_findings: Annotated[
        bool,
        typer.Option(
            "--allow-image-findings", help="Use an image although a copy of the reference is in it; recorded."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Prepare everything, submit and spend nothing.")] = False,
    evaluate: Annotated[bool, typer.Option("--eval/--no-eval", help="Grade with the official evaluator.")] = False,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    min_budget_usd: Annotated[
        float | None,
        typer.Option(min=0, metavar="<usd>", help="Least that the OpenRouter key must be able to spend, in USD."),
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(min=0, metavar="<usd>", help="Cost of the run in USD from which on no task is started."),
    ] = None,
    on_interrupt: Annotated[
        Interrupt, typer.Option(help="What a signal does to running tasks: leave them to the server, or cancel them.")
    ] = Interrupt.DETACH,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a submission that resembles the reference or may hide it.")
    ] = False,
    rm_images: Annotated[
        bool, typer.Option("--rm-images", help="Remove each image that the run pulled, once it is not needed any more.")
    ] = False,
    accept_config_change: Annotated[
        bool, typer.Option("--accept-config-change", help="Resume with another configuration; recorded.")
    ] = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Solve and grade ProgramBench instances through a live Ouroboros server.

    Example: obo-bench programbench run --repo-dir ~/ouroboros --slice 3 --eval

    The directory of the run is printed on stdout, everything else on stderr.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.checkout(repo_dir)
    settings, named = arguments.settings_place(settings_path, checkout)
    _check_memory(memory)
    options = RunOptions(
        repo_dir=checkout,
        run_root=arguments.run_root("programbench", runs_root, run_id, checkout),
        settings_path=settings,
        settings_named=named,
        url=arguments.address(ouroboros_url),
        solve_model=solve_model,
        selector=Selector(
            difficulty=tuple(difficulty or ()),
            language=tuple(language or ()),
            instance_ids=tuple(instance_id or ()),
            filter=filter_,
            slice=slice_,
            shuffle=shuffle,
        ),
        ids_file=ids_file.absolute() if ids_file else None,
        timeout_sec=arguments.finite("--timeout-sec", timeout_sec),
        cpus=arguments.finite("--cpus", cpus),
        memory=memory,
        workers=workers,
        pull="never" if skip_pull else pull.value,
        pin_digests=pin_digests.absolute() if pin_digests else None,
        allow_image_findings=allow_image_findings,
        protected_paths=tuple(protected_path or ()),
        redo_existing=redo_existing,
        retry=tuple(retry or ()),
        dry_run=dry_run,
        evaluate=evaluate,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp,
        ),
        expected_version=expected_version,
        max_cost_usd=arguments.finite_if_given("--max-cost-usd", max_cost_usd),
        on_interrupt=on_interrupt.value,
        strict=strict,
        rm_images=rm_images,
        min_budget_usd=arguments.finite_if_given("--min-budget-usd", min_budget_usd),
        accept_config_change=accept_config_change,
    )
    _run(options, arguments.reporter(quiet=quiet, verbose=verbose))


def _run(options: RunOptions, reporter: Reporter) -> None:
    from obo_bench.programbench.answers import RunAnswer, grade_answer
    from obo_bench.programbench.run import run_programbench

    result = run_programbench(options, reporter)
    grades = None
    if result.grades is not None:
        grades = grade_answer(result.grades)
        answer.tell("\n".join(grade_lines(result.grades)))
    answer.give("programbench run", str(result.run_root), RunAnswer(counts=result.counts, grades=grades).document())


def _check_memory(memory: str) -> None:
    from obo_bench.programbench.sizes import parse_size

    try:
        parse_size(memory)
    except ValueError as error:
        raise UsageError(f"--memory {error}") from error
