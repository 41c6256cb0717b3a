"""`obo-bench eval`, also `obo-bench programbench eval`: grade what a run, an export or a directory holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, recorded_runs, selection_arguments
from obo_bench.cli.panels import GRADE
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.programbench.evaluating.options import EvalOptions
from obo_bench.programbench.evaluation.evaluator_settings import INSTANCE_LIMIT_SEC
from obo_bench.programbench.selection import Selector

if TYPE_CHECKING:
    from obo_bench.programbench.evaluating.evaluate import EvalResult


def evaluate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Run: its id, or any directory (with a slash in it, such as ./export).",
            autocompletion=completion.run_ids,
        ),
    ],
    workers: Annotated[
        int, typer.Option("-w", "--workers", min=1, metavar="<n>", help="Instances at work at a time.")
    ] = 1,
    branch_workers: Annotated[
        int,
        typer.Option("-b", "--branch-workers", min=1, metavar="<n>", help="Test branches of one instance at a time."),
    ] = 1,
    docker_cpus: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="<n>",
            help="Cores of one container. Default: PROGRAMBENCH_DOCKER_CPUS, else 4; at most the engine's.",
        ),
    ] = None,
    instance_limit_sec: Annotated[
        float,
        typer.Option(
            "--instance-limit-sec",
            metavar="<sec>",
            help="Seconds after which an instance is ended and left ungraded.",
        ),
    ] = INSTANCE_LIMIT_SEC,
    force: Annotated[
        bool, typer.Option("-f", "--force", help="Evaluate again; earlier results are set aside, not deleted.")
    ] = False,
    instance_id: selection_arguments.InstanceId = None,
    instance_ids: selection_arguments.InstanceIds = None,
    ids_file: selection_arguments.IdsFile = None,
    filter_: selection_arguments.Filter = "",
    slice_: selection_arguments.Slice = "",
    pin_digests: arguments.PinDigests = None,
    repo_dir: arguments.RepoDir = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Grade submissions with the official evaluator: pass, fail or ungraded for each, never a guess.

    Example: obo-bench eval full --workers 2

    What has a proven result is not evaluated again: repeat the command after an interrupt. The selection is made
    among what is in the run; the grades of the rest stay. No server is needed and no money is spent.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.optional_checkout(repo_dir)
    options = EvalOptions(
        run_root=recorded_runs.run_directory("RUN", run, recorded_runs.known_runs_root(runs_root, checkout)),
        repo_dir=checkout,
        settings_path=arguments.implied_settings(checkout),
        selector=Selector(
            instance_ids=selection_arguments.listed_ids(instance_id, instance_ids), filter=filter_, slice=slice_
        ),
        ids_file=arguments.absolute(ids_file),
        workers=workers,
        branch_workers=branch_workers,
        docker_cpus=docker_cpus,
        instance_limit_sec=_limit(instance_limit_sec),
        force=force,
        pin_digests=arguments.absolute(pin_digests),
    )
    _evaluate(options, arguments.reporter(quiet=quiet, verbose=verbose))


def register(app: typer.Typer) -> None:
    """Add the command to a group: the same function wherever it answers."""
    app.command(
        "eval",
        short_help="Grade submissions with the official evaluator.",
        rich_help_panel=GRADE,
        epilog="Exit status: 0 every submission has its verdict (pass or fail), 2 usage, 5 refused, 6 a submission is "
        "ungraded, 129/130/143 signal.",
    )(evaluate)


def _evaluate(options: EvalOptions, reporter: Reporter) -> None:
    from obo_bench.cli.grade_table import grade_lines
    from obo_bench.programbench.answers import eval_answer
    from obo_bench.programbench.evaluating.evaluate import evaluate_run

    result = evaluate_run(options, reporter)
    answer.tell("\n".join([*grade_lines(result.summary), *_notices(result)]))
    document = eval_answer(
        result.summary,
        selected=list(result.selected),
        ungraded_submissions=list(result.ungraded),
        submission_hashes="taken_now" if result.unvouched else "ledger",
        graded_in_another_image=list(result.other_images),
    )
    answer.give("programbench eval", str(options.run_root), document.document())


def _notices(result: "EvalResult") -> list[str]:
    """Return what an operator must not overlook."""
    lines = []
    if result.unvouched:
        count = len(result.unvouched)
        lines.append(f"  no ledger vouches for the archives of {count} instance(s): their hashes were taken now")
    if result.other_images:
        lines.append(f"  WARNING: graded in another image than solved in: {', '.join(result.other_images)}")
    if result.ungraded:
        lines.append(f"  without a verdict: {', '.join(result.ungraded)}")
    if any(grade.reason == "unknown_to_evaluator" for grade in result.summary.instances.values()):
        lines.append(
            "  unknown_to_evaluator: the installed programbench has no such instance; install the version that the run "
            "was made with (practice programs are graded only by `obo-bench practice --directory DIR --run-id ID`)"
        )
    return lines


def _limit(seconds: float) -> float:
    if arguments.finite("--instance-limit-sec", seconds) <= 0:
        raise UsageError(f"--instance-limit-sec {seconds:g}: give a number of seconds above 0")
    return seconds
