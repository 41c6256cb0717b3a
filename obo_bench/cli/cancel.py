"""`obo-bench programbench cancel`: end what a run has left at the server."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, completion, next_step, recorded_runs
from obo_bench.cli.panels import CLEAN_UP
from obo_bench.core.refusals import ExitCode
from obo_bench.programbench.leftovers.resuming import recorded_resume

if TYPE_CHECKING:
    from obo_bench.programbench.leftovers.cancel import CancelledInstance
    from obo_bench.programbench.leftovers.run_lookup import RecordedRun

_RESULTS = {"settled": "already over", "not_cancelled": "not cancelled"}
"""Results whose word in the document says less to people."""


def cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help=recorded_runs.RUN_HELP, autocompletion=completion.run_ids)],
    instance_id: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<id>",
            help="Id of the only instance to cancel; repeatable.",
            autocompletion=completion.instance_ids,
        ),
    ] = None,
    ouroboros_url: recorded_runs.ServerUrl = None,
    runs_root: arguments.RunsRoot = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Cancel the tasks that a run has left at the server, remove their containers, and record it.

    Example: obo-bench programbench cancel full

    For a run whose process is dead; end a living one first. A resume does not solve a cancelled instance again
    without `--retry cancelled_by_operator`. What the agent has finished meanwhile is kept: resume to package it.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.programbench.leftovers.answers import CancelAnswer, CancelledRow
    from obo_bench.programbench.leftovers.cancel import cancel_run

    address = arguments.address(ouroboros_url) if ouroboros_url is not None else None
    found = recorded_runs.named_run(run, recorded_runs.known_runs_root(runs_root, recorded_runs.implied_checkout()))
    instances = cancel_run(found, url=address, instance_ids=instance_id or (), reporter=arguments.reporter(quiet=quiet))
    answer.tell(_summary(instances, found.root.name))
    next_step.tell(_next(instances, found, address))
    rows = [CancelledRow(**instance.document()) for instance in instances]
    document = CancelAnswer(run_root=str(found.root), instances=rows)
    answer.give("programbench cancel", str(found.root), document.document())
    if any(instance.trouble for instance in instances):
        raise typer.Exit(ExitCode.FAILED)


def _next(instances: "Sequence[CancelledInstance]", run: "RecordedRun", address: str | None) -> list[str]:
    if any(instance.result == "not_cancelled" for instance in instances):
        asked = [] if address is None else ["--ouroboros-url", address]
        return next_step.of_run("programbench cancel", run.root, *asked)
    if any(instance.trouble for instance in instances):
        return next_step.of_run("programbench gc", run.root)
    if any(instance.result == "completed" for instance in instances):
        return recorded_resume(run.manifest, run.root, server_answers=address is None)
    return next_step.of_run("programbench status", run.root)


def _summary(instances: "Sequence[CancelledInstance]", run_id: str) -> str:
    if not instances:
        return f"run {run_id}: no task was submitted, nothing to cancel"
    counts = Counter(_RESULTS.get(instance.result, instance.result) for instance in instances)
    lines = [f"run {run_id}: " + ", ".join(f"{number} {result}" for result, number in counts.items())]
    for instance in instances:
        if instance.result == "not_cancelled":
            lines.append(
                f"  {instance.instance_id} may still run and spend (task {instance.task_id}): {instance.detail}"
            )
        lines += [f"  {instance.instance_id}: {problem}; `gc` removes it later" for problem in instance.leftovers]
    if any(instance.result == "completed" for instance in instances):
        lines.append("  finished work waits: resume the run to package it")
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "cancel",
        short_help="Cancel what a dead run has left at the server.",
        rich_help_panel=CLEAN_UP,
        epilog="Exit status: 0 nothing of it runs any more, 1 something could not be cancelled or removed, 2 usage, "
        "5 refused (run at work or not found, server cannot be asked): nothing was touched.",
    )(cancel)
