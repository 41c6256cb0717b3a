"""`obo-bench attest`, also `obo-bench programbench attest`: would a run be admitted now?"""

from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments
from obo_bench.cli.panels import GET_READY
from obo_bench.core import ending
from obo_bench.core.refusals import ExitCode, UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.gateway import DEFAULT_URL

if TYPE_CHECKING:
    from obo_bench.programbench.attest import AttestOptions

_WITH_EXPLAIN = frozenset({"explain_override", "json_", "shell", "quiet", "verbose"})


def attest(
    context: typer.Context,
    repo_dir: arguments.RepoDir = None,
    ouroboros_url: arguments.OuroborosUrl = DEFAULT_URL,
    settings_path: arguments.SettingsPath = None,
    solve_model: arguments.SolveModel = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="<id>", help="Id of the record. Default: one from the clock."),
    ] = None,
    runs_root: arguments.RunsRoot = None,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    require_git_directory: Annotated[
        bool,
        typer.Option("--require-git-directory", help="Refuse a checkout whose .git is a file: it will be mounted."),
    ] = False,
    require_ready: Annotated[
        bool, typer.Option("--require-ready", help="Wait until the server can take tasks; refuse if it cannot.")
    ] = False,
    output: arguments.Output = None,
    json_: arguments.Json = False,
    shell: Annotated[bool, typer.Option("--shell", help="Answer with KEY=value lines that a shell can eval.")] = False,
    explain_override: Annotated[
        bool,
        typer.Option(
            "--explain-override", help="Only say whether OBO_ALLOW_EVOLVED_VOLUME is set: exit status 0 if so, else 1."
        ),
    ] = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Check the checkout, its line of descent, the live server and its settings as a run would; spend nothing.

    Example: obo-bench attest --repo-dir ~/ouroboros --require-ready

    What was found goes to stderr as a table, the directory of the record to stdout. Readiness and settings are
    reported; they refuse only with --require-ready and --solve-model.
    """
    if json_ and shell:
        raise UsageError("--shell and --json are two forms of one answer: choose one")
    if explain_override:
        _explain_override(context)
        return
    checkout = arguments.checkout(repo_dir)
    settings, named = arguments.settings_place(settings_path, checkout)
    from obo_bench.programbench.attest import AttestOptions

    options = AttestOptions(
        repo_dir=checkout,
        run_root=arguments.run_root("attest", runs_root, run_id, checkout),
        settings_path=settings,
        settings_named=named,
        url=arguments.address(ouroboros_url),
        solve_model=solve_model,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp,
            require_git_directory=require_git_directory,
        ),
        expected_version=expected_version,
        require_ready=require_ready,
        output=output.absolute() if output else None,
    )
    _attest(options, arguments.reporter(quiet=quiet, verbose=verbose), quiet=quiet)


def register(app: typer.Typer) -> None:
    """Add the command to a group: the same function wherever it answers."""
    app.command(
        "attest",
        short_help="Check checkout, lineage, server and settings as a run would.",
        rich_help_panel=GET_READY,
        epilog="Exit status: 0 a run would be admitted, 1 --explain-override: not set, 2 usage, 3 the server, 4 the "
        "checkout, 5 what was asked of readiness, settings or files, 129/130/143 signal.",
    )(attest)


def _attest(options: "AttestOptions", reporter: Reporter, *, quiet: bool) -> None:
    from obo_bench.programbench.attest import attest as run_attest

    line = ""
    try:
        run_attest(options, reporter)
        line = str(options.run_root)
    finally:
        _tell(line, quiet=quiet)


def _tell(line: str, *, quiet: bool) -> None:
    """Answer with what the manifest holds, whichever way the invocation ended."""
    from obo_bench.cli.attest_table import table
    from obo_bench.programbench.attest_record import record_of

    manifest = ending.concluded()
    if manifest is None:
        return
    record = record_of(manifest)
    if not quiet:
        answer.say(table(record))
    answer.give("attest", line, record.document())


def _explain_override(context: typer.Context) -> None:
    """Answer a script's question; the exit status is the answer, so that no script needs to know the rules."""
    from obo_bench.gateway.attestation import explain_override

    _refuse_others(context)
    found = explain_override()
    waives = " ".join(found["waives"])
    state = f"set: {waives} is waived" if found["set"] else f"not set: nothing is waived (it could waive {waives})"
    line = "" if context.params["quiet"] else f"{found['variable']} is {state}; {found['meaning']}"
    variables = {f"{found['variable']}_SET": found["set"], f"{found['variable']}_WAIVES": waives}
    answer.give("attest", line, found, variables)
    raise typer.Exit(ExitCode.OK if found["set"] else ExitCode.FAILED)


def _refuse_others(context: typer.Context) -> None:
    """Refuse options that would be ignored: no check is made and nothing is recorded here."""
    for name in sorted(set(context.params) - _WITH_EXPLAIN):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"--explain-override only answers a question, {flag} has no meaning with it: leave it out")
