"""`obo-bench practice`: the embedded default."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion
from obo_bench.cli.panels import RUN, HelpfulGroup
from obo_bench.core.ending import HandedOn
from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.core.roots import check_run_id

if TYPE_CHECKING:
    from obo_bench.practice.exclusive import ExclusiveData

app = typer.Typer(cls=HelpfulGroup, invoke_without_command=True, subcommand_metavar="[COMMAND]", rich_markup_mode=None)

DIRECTORY = Path("obo-bench-practice")


@app.callback(invoke_without_command=True)
def practice(
    context: typer.Context,
    setup: Annotated[
        bool, typer.Option("--setup", help="Install and start Docker if needed (Debian or Ubuntu, as root).")
    ] = False,
    scenario: Annotated[
        str,
        typer.Option(
            metavar="<name>",
            help="Behaviour of the scripted solver: solved, partial, infra, ...; all are in `practice gateway -h`.",
            autocompletion=completion.scenarios,
        ),
    ] = "solved",
    directory: Annotated[
        Path, typer.Option(metavar="<path>", help="Directory of everything that is made.")
    ] = DIRECTORY,
    run_id: Annotated[
        str | None,
        typer.Option(metavar="<id>", help="Id of the run; give it again to resume.", autocompletion=completion.run_ids),
    ] = None,
    retry: arguments.Retry = None,
    workers: Annotated[int, typer.Option(min=1, max=16, metavar="<n>", help="Instances at work at a time.")] = 2,
    json_: Annotated[bool, typer.Option("--json", help="Answer with the JSON object of `programbench run`.")] = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Solve and grade three practice programs with the real evaluator on real Docker.

    Example: obo-bench practice --scenario partial

    The stand-in server's solver is scripted, so the scores mean nothing. Exit status: that of `programbench run`.
    """
    if context.invoked_subcommand is not None:
        return
    from obo_bench.practice.main_job import PracticeOptions, practise
    from obo_bench.practice.standin.scenarios import SCENARIOS

    if scenario not in SCENARIOS:
        raise UsageError(f"--scenario {scenario!r}: there is no such scenario; use {', '.join(sorted(SCENARIOS))}")
    flags = {"--json": json_, "--quiet": quiet, "--verbose": verbose}
    wishes = [word for reason in retry or () for word in ("--retry", reason)]
    forwarded = (*wishes, *(flag for flag, given in flags.items() if given))
    options = PracticeOptions(
        directory=directory,
        scenario=scenario,
        setup=setup,
        run_id=check_run_id(run_id) if run_id is not None else None,
        workers=workers,
        forwarded=forwarded,
    )
    status = practise(options, arguments.reporter(quiet=quiet, verbose=verbose))
    answer.silence()
    raise HandedOn(status)


@app.command(
    "gateway",
    short_help="Serve the stand-in server alone.",
    rich_help_panel=RUN,
    epilog="Exit status: 0 ended by Ctrl-C or SIGTERM, 2 usage, 5 it could not be set up.",
)
def gateway(
    directory: Annotated[
        Path, typer.Option(metavar="<path>", help="Directory of the server's checkout and data.")
    ] = DIRECTORY,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="<n>", help="Port on loopback; 0 takes a free one.")
    ] = 8770,
    scenario: Annotated[
        str,
        typer.Option(metavar="<name>", help="Behaviour of the scripted solver.", autocompletion=completion.scenarios),
    ] = "solved",
    workers: Annotated[int, typer.Option(min=1, max=64, metavar="<n>", help="Tasks at work at a time.")] = 2,
    start_delay_sec: Annotated[float, typer.Option(min=0, metavar="<sec>", help="Seconds until it is ready.")] = 0.0,
    solve_delay_sec: Annotated[
        float, typer.Option(min=0, metavar="<sec>", help="Seconds that every task takes at least.")
    ] = 0.0,
    answer_delay_sec: Annotated[
        float,
        typer.Option(min=0, metavar="<sec>", help="Seconds between taking a submission and answering it."),
    ] = 0.0,
    finalize_delay_sec: Annotated[
        float, typer.Option(min=0, metavar="<sec>", help="Seconds that every task is finalizing.")
    ] = 0.3,
    orphan_delay_sec: Annotated[
        float,
        typer.Option(
            min=0, metavar="<sec>", help="Seconds after a kill and a start until running tasks are declared failed."
        ),
    ] = 1.0,
    keep_waiting: Annotated[
        bool, typer.Option("--keep-waiting", help="Run waiting tasks after a kill and a start, as from 6.102 on.")
    ] = False,
    version: Annotated[
        str | None, typer.Option(metavar="<version>", help="Version to show. Default: the checkout's.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", metavar="<fault>", help="Fault, as told above; repeatable.")
    ] = None,
    chaos: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="<p>", help="Probability that a request, and a task, goes wrong somehow."),
    ] = 0.0,
    seed: Annotated[
        int, typer.Option(metavar="<n>", help="Seed that decides whom faults with a probability strike.")
    ] = 0,
) -> None:
    """Serve the stand-in for an Ouroboros server until Ctrl-C: a test server, whose scores mean nothing.

    Example: obo-bench practice gateway --fault 'submit:drop-answer*1'

    \b
    Scenarios (all tasks: --scenario; some tasks: --fault work:SCENARIO):
      solved, partial, broken-build, instant, long-command, huge-record,
      priced, unpriced, infra, provider-degraded, worker-crash,
      budget-paused, budget-exhausted, unknown-reason, agent-failure,
      other-daemon

    \b
    A FAULT is WHERE:WHAT[=VALUE][*TIMES][@PROBABILITY]. WHERE is any, or one of
      health state settings submit list task events artifact cancel resume
    WHAT happens before the server acts on the request:
      delay=SEC  drop  status=HTTP_STATUS
    or after it has:
      delay-answer=SEC  drop-answer  cut  not-json  html  wrong-types
      patch=JSON_OBJECT (e.g. another version, sha, uptime, reason_code, or a
      task retried under a new id: task:patch={"task_id":"{task_id}-2"})
      pad=BYTES
    or WHERE is work and WHAT a scenario; VALUE is a part of the instance's id:
      work:worker-crash=wordtally*1

    \b
    While it runs: curl URL/stand-in/faults shows what is in force and how often
    it struck; -X POST --data-binary 'health:delay=5' adds, -X PUT replaces,
    -X DELETE ends all faults (from loopback only).

    A kill (SIGKILL) and another start with the same directory loses tasks that waited and fails those that ran; Ctrl-C
    or SIGTERM cancels both. A directory has one server at a time. For scripts its URL is the one line on stdout.
    """
    from obo_bench.practice.directory import make_practice_directory
    from obo_bench.practice.exclusive import ExclusiveData
    from obo_bench.practice.seed import make_seed_checkout
    from obo_bench.practice.standin import StandInConfig, serve
    from obo_bench.practice.standin.faults import chaos as chaos_of
    from obo_bench.practice.standin.faults import parse_fault

    faults = (*map(parse_fault, fault or ()), *(chaos_of(chaos) if chaos else ()))
    directory = make_practice_directory(directory)
    with ExclusiveData(directory / "data") as data:
        checkout = make_seed_checkout(directory / "ouroboros")
        config = StandInConfig(
            repo_dir=checkout,
            data_dir=directory / "data",
            port=port,
            workers=workers,
            scenario=scenario,
            start_delay_sec=start_delay_sec,
            solve_delay_sec=solve_delay_sec,
            answer_delay_sec=answer_delay_sec,
            finalize_delay_sec=finalize_delay_sec,
            orphan_delay_sec=orphan_delay_sec,
            keep_waiting=keep_waiting,
            version=version,
            faults=faults,
            seed=seed,
        )
        serve(config, answer.say, lambda url: _served(url, data, directory, checkout))


def _served(url: str, data: "ExclusiveData", directory: Path, checkout: Path) -> None:
    """Give the address to a script, and to whoever wants to serve the same data; stderr has told it to people."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        answer.show(url)
    data.served_at(url)
    _advise(url, directory, checkout)


def _advise(url: str, directory: Path, checkout: Path) -> None:
    """Show how to run the benchmark against the server, which itself needs no official package."""
    from obo_bench.practice.second_terminal import second_terminal

    try:
        lines = second_terminal(directory, checkout, url)
    except PreflightRefused as refusal:
        refusal.settle()
        return
    answer.say("to run the practice programs against it, after one `obo-bench practice`, type in another terminal:")
    answer.say("\n".join(f"  {line}" for line in lines))
