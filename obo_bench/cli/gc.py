"""`obo-bench programbench gc`: remove what dead runs have left on the engine."""

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, next_step, recorded_runs
from obo_bench.cli.panels import CLEAN_UP
from obo_bench.core.refusals import ExitCode, UsageError
from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.programbench.leftovers.gc import Finding


def gc(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Only run to look at: its id, or its directory. Default: all runs.",
            autocompletion=completion.run_ids,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Remove the orphans without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what is there; remove nothing and never ask.")
    ] = False,
    ouroboros_url: recorded_runs.ServerUrl = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Remove containers, volumes and images that dead runs have left; nothing without obo-bench's labels is touched.

    Example: obo-bench programbench gc --force

    An orphan belongs to a run whose process is dead and to a task that is over, unknown to its server or was never
    submitted. What is kept is listed with the reason. Without --force it asks, where there is a terminal to ask.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.engine.daemon import connect_engine
    from obo_bench.programbench.leftovers.gc import find_garbage, remove_garbage

    if force and dry_run:
        raise UsageError("--force and --dry-run exclude each other: remove, or only show")
    if ouroboros_url is not None and run is None:
        raise UsageError("--ouroboros-url is for one run: name it as RUN, other runs may have other servers")
    address = arguments.address(ouroboros_url) if ouroboros_url is not None else None
    runs = recorded_runs.known_runs_root(runs_root, recorded_runs.implied_checkout())
    chosen = recorded_runs.named_run(run, runs) if run is not None else None
    engine = connect_engine()
    with closing(engine.client):
        findings = find_garbage(engine, run=chosen, runs_root=runs, url=address)
        _show(findings, quiet=quiet)
        if _may_remove(findings, force=force, dry_run=dry_run):
            findings = remove_garbage(engine, findings, url=address, reporter=arguments.reporter(quiet=quiet))
    _answer(findings)
    _tell_next(findings)


def _tell_next(findings: "Sequence[Finding]") -> None:
    """Suggest to remove what was only shown, or to look again at what could not be removed; else there is nothing."""
    asked = [word for word in answer.arguments()[2:] if word not in ("--force", "--dry-run", "--json")]
    actions = {finding.action for finding in findings}
    if "failed" in actions:
        next_step.tell(["obo-bench", "programbench", "gc", *asked], "see above why it was not removed")
    elif "orphan" in actions:
        next_step.tell(["obo-bench", "programbench", "gc", *asked, "--force"])


def _show(findings: "Sequence[Finding]", *, quiet: bool) -> None:
    if not quiet:
        for finding in findings:
            answer.tell(printable(finding.text()))


def _may_remove(findings: "Sequence[Finding]", *, force: bool, dry_run: bool) -> bool:
    orphans = sum(finding.verdict.orphan for finding in findings)
    if force or not orphans or dry_run:
        return force and orphans > 0
    if sys.stdin is not None and sys.stdin.isatty():
        return typer.confirm(f"Remove the {orphans} orphan(s)?", default=False, err=True)
    answer.tell("nothing was removed: --force removes without asking")
    return False


def _answer(findings: "Sequence[Finding]") -> None:
    from obo_bench.programbench.leftovers.answers import FoundObject, GcAnswer

    counts = Counter(finding.action for finding in findings)
    answer.tell(", ".join(f"{number} {action}" for action, number in counts.items()) or "nothing of ours is there")
    lines = [printable(f"{found.item.kind} {found.item.name}") for found in findings if found.action != "kept"]
    document = GcAnswer(found=[FoundObject(**finding.document()) for finding in findings])
    answer.give("programbench gc", "\n".join(lines), document.document())
    if counts["failed"]:
        raise typer.Exit(ExitCode.FAILED)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "gc",
        short_help="Remove what dead runs have left on the engine.",
        rich_help_panel=CLEAN_UP,
        epilog="Exit status: 0 shown or removed, 1 the engine did not remove something, 2 usage, 5 refused (engine, "
        "run not found). On stdout: one line for each orphan, removed or not.",
    )(gc)
