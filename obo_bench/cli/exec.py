"""`obo-bench exec`: any launcher, admitted, attested and recorded as a run of our own."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from obo_bench.cli import answer, arguments
from obo_bench.cli.panels import OTHER_LAUNCHERS
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.gateway import DEFAULT_URL
from obo_bench.launch.benchmark_name import check_benchmark_name
from obo_bench.launch.contract.variables import CHILD_DIRECTORY, LOG_NAME
from obo_bench.launch.executing.preset_defaults import preset_defaults

if TYPE_CHECKING:
    from obo_bench.launch.executing.execution import ExecResult
    from obo_bench.launch.executing.options import ExecOptions

_GRACE_SEC = 10.0


def exec_(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND [ARGS]...", help="The launcher, after `--`.", show_default=False)
    ],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", metavar="<name>", help="Name of the benchmark. Default: the preset's.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="<name>", help="What is known of the launcher.")
    ] = None,
    repo_dir: arguments.RepoDir = None,
    ouroboros_url: Annotated[
        str | None,
        typer.Option(
            "--ouroboros-url", metavar="<url>", help=f"Address of the Ouroboros server. Default: {DEFAULT_URL}."
        ),
    ] = None,
    no_server: Annotated[
        bool, typer.Option("--no-server", help="Ask no server: the launcher needs none, or starts its own; recorded.")
    ] = False,
    solve_model: arguments.SolveModel = None,
    settings_path: arguments.SettingsPath = None,
    task_id: Annotated[
        list[str] | None,
        typer.Option("--task-id", parser=arguments.text, metavar="<id>", help="Requested instance; repeatable."),
    ] = None,
    ids_file: Annotated[
        Path | None,
        arguments.place(
            "--ids-file",
            "File with requested instances, one id a line; # begins a comment.",
        ),
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Data set and its version, for the record.")] = None,
    official_command: Annotated[
        str, typer.Option("--official-command", help="Command line of the official evaluator, for the record.")
    ] = "",
    run_id: arguments.RunId = None,
    runs_root: arguments.RunsRoot = None,
    timeout_sec: Annotated[
        float | None, typer.Option(min=0.1, help="Stop the launcher after so many seconds.", show_default=False)
    ] = None,
    grace_sec: Annotated[
        float, typer.Option(min=0, help="Seconds between the signal that asks it to end and SIGKILL.")
    ] = _GRACE_SEC,
    max_cost_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop the launcher once this invocation has cost so much, in USD.")
    ] = None,
    min_budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Refuse when the OpenRouter key cannot spend so many USD any more.")
    ] = None,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    require_git_directory: Annotated[
        bool,
        typer.Option(
            "--require-git-directory", help="Refuse a checkout whose `.git` is no directory: it will be mounted."
        ),
    ] = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Run any benchmark launcher behind the same admission, attestation and record as a run of our own.

    Example: obo-bench exec --benchmark gaia --task-id t1 -- ./solve-gaia

    What the launcher prints goes to stderr and to child/output.log, secrets redacted; its standard input is empty. The
    directory of the run is printed on stdout. Its exit status is ours, unless it was refused or stopped here.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    defaults = preset_defaults(preset)
    checkout = arguments.checkout(repo_dir)
    settings, named = arguments.settings_place(settings_path, checkout)
    name = _benchmark(benchmark, defaults.benchmark)
    from obo_bench.launch.executing.options import ExecOptions

    options = ExecOptions(
        benchmark=name,
        command=_command(command),
        repo_dir=checkout,
        run_root=arguments.run_root(name, runs_root, run_id, checkout),
        settings_path=settings,
        settings_named=named,
        preset=preset,
        url=_url(ouroboros_url, expected_version, no_server=no_server),
        expected_version=expected_version,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp or defaults.stamp,
            require_git_directory=require_git_directory or defaults.git_directory,
        ),
        task_ids=_ids(task_id),
        ids_file=arguments.absolute(ids_file),
        solve_model=solve_model,
        dataset=defaults.dataset if dataset is None else dataset,
        official_command=_words(official_command),
        timeout_sec=defaults.timeout_sec if timeout_sec is None else arguments.finite("--timeout-sec", timeout_sec),
        grace_sec=arguments.finite("--grace-sec", grace_sec),
        max_cost_usd=arguments.finite_if_given("--max-cost-usd", max_cost_usd),
        min_budget_usd=arguments.finite_if_given("--min-budget-usd", min_budget_usd),
        quiet=quiet,
    )
    _exec(options, arguments.lines(quiet=quiet, verbose=verbose))


def _exec(options: "ExecOptions", reporter: Reporter) -> None:
    from obo_bench.launch.answers import ExecAnswer
    from obo_bench.launch.executing.exec import run_exec

    result = run_exec(options, reporter)
    _tell_end(result)
    found = ExecAnswer(
        child_exit_code=result.child_exit_code,
        counts=result.counts,
        problems=list(result.problems),
        timed_out=result.stop is not None and result.stop.why == "timeout",
        stopped_for=result.stop.detail if result.stop else None,
    )
    answer.give("exec", str(result.run_root), found.document())


def _tell_end(result: "ExecResult") -> None:
    told = f"{result.outcome}: {result.why}" + (f"\n  what to do: {result.remedy}" if result.remedy else "")
    if result.outcome == "completed":
        answer.tell(told)
    else:
        answer.say(told)  # why it ended: also with -q
    answer.tell(f"  what it printed: {result.run_root / CHILD_DIRECTORY / LOG_NAME}")


def _command(words: list[str]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise UsageError("no command is given: write the launcher and its arguments after `--`")
    return tuple(words)


def _benchmark(named: str | None, of_preset: str) -> str:
    name = of_preset if named is None else named
    if not name:
        raise UsageError("which benchmark? give --benchmark NAME, or a --preset that knows it")
    return check_benchmark_name(name)


def _url(named: str | None, expected_version: str | None, *, no_server: bool) -> str | None:
    """Return the server's address, None without one; raises UsageError for options that contradict each other."""
    if not no_server:
        return arguments.address(DEFAULT_URL if named is None else named)
    for flag, value in (("--ouroboros-url", named), ("--expected-version", expected_version)):
        if value is not None:
            raise UsageError(f"{flag} {value!r} has no meaning with --no-server: leave one of them out")
    return None


def _ids(given: list[str] | None) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(name.strip() for name in given or ()))
    for name in ids:
        if not name or not name.isprintable():
            raise UsageError(f"--task-id {name!r} is blank or not printable: give the id of an instance")
    return ids


def _words(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"--official-command {line!r}: {error}; write it as in a shell") from error


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "exec",
        short_help="Run any launcher behind the same admission and record.",
        rich_help_panel=OTHER_LAUNCHERS,
        context_settings=_own_options_first(),
        epilog="Exit status: the launcher's own, 128 plus the number of a signal that ended it; 2 usage, 3-5 refused "
        "before it was started, 7 or 8 stopped by obo-bench, 129/130/143 a signal of yours. Decide on the outcome.",
    )(exec_)


def _own_options_first() -> dict[str, Any]:
    """Everything from the launcher's name on is the launcher's."""
    return {"allow_interspersed_args": False}
