"""`obo-bench export`, also `obo-bench programbench export`: the submissions of a run as a tree of their own."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, recorded_runs, selection_arguments
from obo_bench.cli.panels import GRADE
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.exporting.options import ExportOptions
from obo_bench.programbench.selection import Selector

if TYPE_CHECKING:
    from obo_bench.programbench.exporting.export_manifest import ExportManifest

_MOST_LINES = 20


def export(
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="<run>",
            help="Run to export: its id, or any directory.",
            autocompletion=completion.run_ids,
        ),
    ] = None,
    source_run_id: Annotated[
        str | None,
        typer.Option(
            "--source-run-id", metavar="<id>", help="Id of the run to export.", autocompletion=completion.run_ids
        ),
    ] = None,
    dest: Annotated[
        Path | None,
        arguments.place("--dest", "Directory of the export, for it alone."),
    ] = None,
    dest_run_id: Annotated[
        str | None,
        typer.Option("--dest-run-id", metavar="<id>", help="Id of the export, as a directory among the runs."),
    ] = None,
    difficulty: selection_arguments.Difficulty = None,
    language: selection_arguments.Language = None,
    instance_id: selection_arguments.InstanceId = None,
    instance_ids: selection_arguments.InstanceIds = None,
    ids_file: selection_arguments.IdsFile = None,
    filter_: selection_arguments.Filter = "",
    slice_: selection_arguments.Slice = "",
    shuffle: selection_arguments.Shuffle = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace archives in the destination that are not the source's.")
    ] = False,
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard", help="Add what the official `submit package` and `submit verify` need.")
    ] = False,
    repo_dir: arguments.RepoDir = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Export verified submissions as a minimal tree that the official evaluator takes as it stands.

    Example: obo-bench export --source full --dest ~/submissions/full

    Only archives whose hash the source's ledger recorded are taken, as reflink or hard link where possible. The
    selection is made among the source's instances. Repeat the command to resume or to add.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.optional_checkout(repo_dir)
    runs = recorded_runs.known_runs_root(runs_root, checkout)
    named, places = _source(source, source_run_id, runs)
    options = ExportOptions(
        source=named,
        source_places=places,
        run_root=_destination(dest, dest_run_id, runs),
        repo_dir=checkout,
        settings_path=arguments.implied_settings(checkout),
        selector=Selector(
            difficulty=tuple(difficulty or ()),
            language=tuple(language or ()),
            instance_ids=selection_arguments.listed_ids(instance_id, instance_ids),
            filter=filter_,
            slice=slice_,
            shuffle=shuffle,
        ),
        ids_file=arguments.absolute(ids_file),
        overwrite=overwrite,
        leaderboard=leaderboard,
    )
    _export(options, arguments.reporter(quiet=quiet, verbose=verbose))


def register(app: typer.Typer) -> None:
    """Add the command to a group: the same function wherever it answers."""
    app.command(
        "export",
        short_help="Export verified submissions, also for the leaderboard.",
        rich_help_panel=GRADE,
        epilog="Exit status: 0 every submission of the source is there (also where all was there already), 1 some are "
        "not, or there was nothing to export, 2 usage, 5 refused, 129/130/143 signal.",
    )(export)


def _export(options: ExportOptions, reporter: Reporter) -> None:
    from obo_bench.programbench.exporting.export import export_run

    document = export_run(options, reporter)
    answer.tell("\n".join(_lines(document)))
    answer.because(str(document.totals))
    answer.give("programbench export", str(options.run_root), document.document())


def _lines(document: "ExportManifest") -> Iterable[str]:
    """Return the summary, and what an operator should look at; all numbers are the document's own."""
    yield f"exported to {document.destination}: {document.totals}"
    if document.source.unverified_source:
        yield "  the source has no ledger: its archives were checked for being whole only"
    told = [f"  {entry.instance_id}: {entry.status}: {entry.detail}" for entry in document.told()]
    yield from told[:_MOST_LINES]
    if len(told) > _MOST_LINES:
        yield f"  and {len(told) - _MOST_LINES} more, all in export_manifest.json"


def _source(named: str | None, run_id: str | None, runs: Path | None) -> tuple[str, tuple[Path, ...]]:
    """Return what the operator called the source, and where it may be."""
    if (named is None) == (run_id is None):
        raise UsageError("name one source: --source RUN (an id or a directory) or --source-run-id ID")
    if run_id is not None:
        return run_id, (recorded_runs.directory_among_runs("--source-run-id", run_id, runs),)
    if not named:
        raise UsageError("--source is empty: name a run by its id or directory")
    is_id = os.sep not in named and named not in (".", "..")
    below = (runs / BENCHMARK / named,) if runs is not None and is_id else ()
    return named, (*below, Path(named).absolute())


def _destination(dest: Path | None, run_id: str | None, runs: Path | None) -> Path:
    if (dest is None) == (run_id is None):
        raise UsageError("name one destination: --dest DIR or --dest-run-id ID")
    if run_id is not None:
        return recorded_runs.directory_among_runs("--dest-run-id", run_id, runs)
    return (dest or Path()).absolute()
