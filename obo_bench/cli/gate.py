"""`obo-bench programbench gate` and `gate-tasks`: may a campaign be paid for?"""

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from obo_bench.cli import answer, arguments, completion, next_step, recorded_runs
from obo_bench.cli.panels import GET_READY, GRADE
from obo_bench.cli.placed import placed
from obo_bench.core.refusals import UsageError
from obo_bench.programbench.gating.options import DEFAULT_MIN_PAIRS, GateOptions, TaskSource

_RUN_HELP = "Graded run: its id, or its directory (with a slash in it)."
_SCORES_HELP = (
    "graded run (id or directory), leaderboard entry, _stats/score.json, eval.json files, or CSV of id,score."
)
SmokeIds = Annotated[
    Path | None,
    arguments.place(
        "--smoke-ids-file",
        "File of the smoke instances, one id a line; # begins a comment.",
    ),
]


def gate(
    run: Annotated[str, typer.Option("--run", metavar="RUN", help=_RUN_HELP, autocompletion=completion.run_ids)],
    reference: Annotated[
        str,
        typer.Option("--reference", metavar="FILE|DIR|RUN", help=f"Scores that the run must reach: {_SCORES_HELP}"),
    ],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE|DIR|RUN", help="Scores that the run must not be below; likewise."),
    ] = None,
    tasks: Annotated[
        Path | None,
        arguments.place(
            "--tasks",
            "File of the instances, as `gate-tasks` prints it, or one id a line.",
        ),
    ] = None,
    smoke_ids_file: SmokeIds = None,
    unseen_ids_file: Annotated[
        Path | None,
        arguments.place(
            "--unseen-ids-file",
            "File of the unseen instances, likewise.",
        ),
    ] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw the instances as `gate-tasks` with this --seed did.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, max=2**64 - 1, metavar="<n>", help="Seed of --draw.")] = None,
    min_pairs: Annotated[
        int,
        typer.Option(min=1, metavar="<n>", help="Instances that must have a score in both; fewer are inconclusive."),
    ] = DEFAULT_MIN_PAIRS,
    runs_root: arguments.RunsRoot = None,
    repo_dir: arguments.RepoDir = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Compare a graded run with a reference on the drawn instances: GO, NO-GO or INCONCLUSIVE.

    \b
    Example: obo-bench programbench gate --run trial --tasks tasks.txt \\
      --reference leaderboard/_stats/score.json

    GO when its mean is at least the reference's on the same tasks, and not below the baseline's. The verdict and the
    path of gate_result.json are printed on stdout, everything else on stderr.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    source = _source(tasks, smoke_ids_file, unseen_ids_file, draw=draw, seed=seed)
    checkout = arguments.optional_checkout(repo_dir)
    runs = recorded_runs.known_runs_root(runs_root, checkout)
    options = GateOptions(
        run=recorded_runs.run_directory("--run", run, runs),
        reference=_named("--reference", reference),
        baseline=None if baseline is None else _named("--baseline", baseline),
        tasks=source,
        min_pairs=min_pairs,
        runs_root=runs,
        repo_dir=checkout,
        settings_path=arguments.implied_settings(checkout),
    )
    _gate(options, quiet=quiet, verbose=verbose)


def gate_tasks(
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**64 - 1, metavar="<n>", help="Seed of the draw. Default: a new one, which is told."),
    ] = None,
    smoke_ids_file: SmokeIds = None,
    json_: arguments.Json = False,
) -> None:
    """Draw the instances of a gate before the run: 10 smoke ones from the easy ones, 10 unseen ones from all the rest.

    Example: obo-bench programbench gate-tasks --seed 7 > tasks.txt

    The list goes to stdout; `run --ids-file` and `gate --tasks` take it. One seed always gives the same instances.
    Named smoke instances are kept as they are.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    import secrets

    from obo_bench.programbench.answers import GateTasksAnswer
    from obo_bench.programbench.gating.draw import draw_tasks
    from obo_bench.programbench.gating.official_tasks import official_tasks
    from obo_bench.programbench.gating.task_list import read_tasks

    known = official_tasks().instances
    smoke = (
        list(read_tasks(TaskSource(smoke=arguments.absolute(smoke_ids_file)), known).groups) if smoke_ids_file else None
    )
    drawn = draw_tasks(list(known.values()), secrets.randbelow(2**32) if seed is None else seed, smoke)
    _tell_trial()
    result = GateTasksAnswer(
        seed=drawn.draw.seed,
        smoke_given=drawn.draw.smoke_given,
        catalogue_sha256=drawn.draw.catalogue_sha256,
        smoke=list(drawn.smoke),
        unseen=list(drawn.unseen),
    )
    answer.give("programbench gate-tasks", drawn.text(), result.document())


def _tell_trial() -> None:
    """Suggest the run of the list, in the file that it goes to where that is known."""
    kept = None if "--json" in answer.arguments() else _stdout_file()
    trial = ["obo-bench", "programbench", "run", "--ids-file", kept or "tasks.txt", "--run-id", "trial", "--eval"]
    next_step.tell(trial, "" if kept else f"keep the list in {placed(trial)[4]}")


def _stdout_file() -> str | None:
    """Return the file that stdout goes to; None where it is none, or the system does not name it."""
    with contextlib.suppress(OSError, ValueError):
        path = Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink()
        return str(path) if path.is_file() else None
    return None


def _gate(options: GateOptions, *, quiet: bool, verbose: bool) -> None:
    from obo_bench.programbench.answers import gate_answer
    from obo_bench.programbench.gating.gate import run_gate

    result, path = run_gate(options, arguments.reporter(quiet=quiet, verbose=verbose))
    if not quiet:
        from obo_bench.cli.gate_table import table

        answer.say(table(result))
    answer.because("; ".join([result.verdict, *(reason.text for reason in result.reasons)]))
    answer.give("programbench gate", f"{result.verdict} {path}", gate_answer(result, str(path)).document())


def _source(tasks: Path | None, smoke: Path | None, unseen: Path | None, *, draw: bool, seed: int | None) -> TaskSource:
    """Return where the tasks come from; raises UsageError unless exactly one way is named."""
    if draw != (seed is not None):
        raise UsageError("--draw and --seed go together: give the seed that the tasks of the run were drawn with")
    given = {"--tasks": tasks is not None, "--unseen-ids-file": unseen is not None, "--draw": draw}
    wrong = _wrong_ways([flag for flag, is_given in given.items() if is_given], smoke=smoke is not None)
    if wrong:
        raise UsageError(
            f"which tasks are compared is said {wrong}: give one of --tasks FILE, or --smoke-ids-file and "
            "--unseen-ids-file, or --draw --seed N (with or without --smoke-ids-file)"
        )
    return TaskSource(arguments.absolute(tasks), arguments.absolute(smoke), arguments.absolute(unseen), seed)


def _wrong_ways(ways: list[str], *, smoke: bool) -> str:
    """Return what is wrong with how the tasks are named; empty where nothing is."""
    clashing = [*ways, *(["--smoke-ids-file"] if smoke and ways == ["--tasks"] else [])]
    if len(clashing) > 1:
        return f"more than once ({', '.join(clashing)})"
    if not ways:
        return "by half (--smoke-ids-file alone)" if smoke else "nowhere"
    return "by half (--unseen-ids-file alone)" if ways == ["--unseen-ids-file"] and not smoke else ""


def _named(flag: str, value: str) -> str:
    if not value:
        raise UsageError(f"{flag} is empty: give a value")
    return value


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "gate",
        short_help="Judge a graded run by a reference: GO, NO-GO or INCONCLUSIVE.",
        rich_help_panel=GRADE,
        epilog="Exit status: 0 GO, 1 NO-GO, 2 usage, 5 refused (run not found, at work or not graded; a file that "
        "cannot be used), 6 INCONCLUSIVE, 129/130/143 signal.",
    )(gate)
    app.command(
        "gate-tasks",
        short_help="Draw the instances of a gate, before the run.",
        rich_help_panel=GET_READY,
        epilog="Exit status: 0 drawn, 2 usage, 5 refused (a file that cannot be used).",
    )(gate_tasks)
