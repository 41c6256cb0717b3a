"""`obo-bench prepare`, also `obo-bench programbench prepare`: a submission from a container and a workspace at hand."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, variables
from obo_bench.cli.panels import RUN
from obo_bench.core import invocation
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.programbench.options import DEFAULT_TIMEOUT_SEC

if TYPE_CHECKING:
    from obo_bench.programbench.preparing.options import PrepareOptions

_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
"""As docker names containers."""


def prepare(
    workspace: Annotated[
        Path,
        arguments.place(
            "--workspace",
            "Workspace of the container on this machine.",
        ),
    ],
    instruction_file: Annotated[
        Path,
        arguments.place(
            "--instruction-file",
            "UTF-8 file with what the agent is told.",
        ),
    ],
    container_name: Annotated[
        str, typer.Option("--container-name", metavar="<name>", help="Running cleanroom; it is never changed.")
    ],
    instance_id: Annotated[
        str,
        typer.Option(
            "--instance-id", metavar="<id>", help="Id of the instance.", autocompletion=completion.instance_ids
        ),
    ],
    repo_dir: arguments.RepoDir = None,
    settings_path: arguments.SettingsPath = None,
    isolated_data_root: Annotated[
        Path | None,
        arguments.place(
            "--isolated-data-root",
            "Data directory that the server was given for this; its settings.json is used.",
        ),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="<id>", help="Id of the run; several instances may share one.")
    ] = None,
    runs_root: arguments.RunsRoot = None,
    protected_path: Annotated[
        list[str] | None,
        typer.Option(metavar="<path>", help="Artifact that the agent may only run; replaces the default; repeatable."),
    ] = None,
    timeout_sec: Annotated[
        float, typer.Option(min=1, metavar="<sec>", help="Deadline in the task body, in seconds.")
    ] = DEFAULT_TIMEOUT_SEC,
    ledger_output: Annotated[
        Path | None,
        arguments.place(
            "--ledger-output",
            "File that the ledger's lines are appended to as well.",
        ),
    ] = None,
    manifest_output: Annotated[
        Path | None,
        arguments.place(
            "--manifest-output",
            "File that the manifest is written to as well.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what would only be flagged, such as a changed reference.")
    ] = False,
    evaluate: Annotated[bool, typer.Option("--eval/--no-eval", help="Grade with the official evaluator.")] = False,
    allow_dirty_seed: arguments.AllowDirtySeed = False,
    expect: arguments.Expect = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Check a cleanroom that is running, normalise its workspace, and package what is in it; nothing is submitted.

    \b
    Example: obo-bench prepare --workspace ws --container-name room \\
      --instance-id abishekvashok__cmatrix.5c082c6 --instruction-file task.md

    Prints the run's directory, which `export` and `eval` take. May be repeated any number of times: what is there
    already is kept, and an `executable` is taken for the reference only if it has the bytes of the image's.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.programbench.instances import check_instance_id
    from obo_bench.programbench.preparing.options import PrepareOptions

    checkout = arguments.checkout(repo_dir)
    isolated = arguments.absolute(isolated_data_root)
    settings, named = arguments.settings_place(settings_path, checkout)
    if isolated is not None and not _settings_are_for_it(settings_path):
        settings, named = isolated / "settings.json", False
    options = PrepareOptions(
        repo_dir=checkout,
        run_root=arguments.run_root("programbench", runs_root, run_id, checkout) / check_instance_id(instance_id),
        instance_id=instance_id,
        workspace=workspace.absolute(),
        instruction_file=instruction_file.absolute(),
        container_name=_check_container(container_name),
        settings_path=settings,
        settings_named=named,
        isolated_data_root=isolated,
        protected_paths=tuple(protected_path or ()),
        timeout_sec=arguments.finite("--timeout-sec", timeout_sec),
        ledger_output=arguments.absolute(ledger_output),
        manifest_output=arguments.absolute(manifest_output),
        strict=strict,
        evaluate=evaluate,
        seed=arguments.seed_demands(
            seed_commit,
            allow_dirty=allow_dirty_seed,
            expect=expect,
            require_stamp=require_stamp,
        ),
    )
    if options.ledger_output is not None and options.ledger_output == options.manifest_output:
        raise UsageError(f"--ledger-output and --manifest-output both name {str(options.ledger_output)!r}: name two")
    _prepare(options, arguments.reporter(quiet=quiet, verbose=verbose))


def register(app: typer.Typer) -> None:
    """Add the command to a group: the same function wherever it answers."""
    app.command(
        "prepare",
        short_help="Package the workspace of a container that runs already.",
        rich_help_panel=RUN,
        epilog="Exit status: 0 packaged, 1 blocked or not packaged, 2 usage, 4-5 refused, 6 not graded, "
        "129/130/143 signal.",
    )(prepare)


def _prepare(options: "PrepareOptions", reporter: Reporter) -> None:
    from obo_bench.programbench.answers import PrepareAnswer
    from obo_bench.programbench.preparing.prepare import prepare_submission

    result = prepare_submission(options, reporter)
    if result.official_eval_status != "not_run":
        answer.tell(f"official evaluation: {result.official_eval_status}: {result.grade.get('reason', 'no reason')}")
    answer.because(f"{options.instance_id}: {result.reason_code}{f': {result.error}' if result.error else ''}")
    document = PrepareAnswer(
        run=str(options.run),
        instance_id=options.instance_id,
        instance_directory=str(options.run_root),
        status=result.status,
        reason_code=result.reason_code,
        error=result.error,
        submission_sha256=result.submission_sha256,
        official_eval_status=result.official_eval_status,
        grade=result.grade,
    )
    answer.give("programbench prepare", str(options.run), document.document())


def _settings_are_for_it(settings_path: Path | None) -> bool:
    """Say whether the settings were named for this command: OUROBOROS_SETTINGS_PATH is that of another server."""
    historical = f"environment {variables.HISTORICAL['--settings-path']}"
    return settings_path is not None and invocation.origins().get("settings_path") != historical


def _check_container(name: str) -> str:
    if not _CONTAINER.fullmatch(name):
        raise UsageError(f"--container-name {name[:200]!r} is no name of a container: see `docker ps`")
    return name
