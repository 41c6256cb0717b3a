"""Options that choose among instances, as `run` spells them."""

from pathlib import Path
from typing import Annotated

import typer

from obo_bench.cli import arguments, completion
from obo_bench.core.refusals import UsageError

Difficulty = Annotated[
    list[str] | None, typer.Option(metavar="<level>", help="Difficulty: easy, medium, hard or none; repeatable.")
]
Language = Annotated[list[str] | None, typer.Option(metavar="<name>", help="Language of the original; repeatable.")]
InstanceId = Annotated[
    list[str] | None,
    typer.Option(metavar="<id>", help="Id of one instance; repeatable.", autocompletion=completion.instance_ids),
]
InstanceIds = Annotated[
    str | None,
    typer.Option("--instance-ids", metavar="<id,id,...>", help="Ids of several instances, separated by commas."),
]
IdsFile = Annotated[
    Path | None,
    arguments.place(
        "--ids-file",
        "File of instance ids, one a line; # begins a comment.",
    ),
]
Filter = Annotated[
    str, typer.Option("--filter", metavar="<regex>", help="Regular expression, matched from the start of each id.")
]
Slice = Annotated[
    str,
    typer.Option(
        "--slice", metavar="<slice>", help="Python slice of what is chosen, such as 3:6; 3 means the first three."
    ),
]
Shuffle = Annotated[bool, typer.Option(help="Shuffle first, in the official fixed order.")]


def listed_ids(instance_id: list[str] | None, instance_ids: str | None) -> tuple[str, ...]:
    """Return the ids of both options in their order; raises UsageError for a list that names none."""
    listed = tuple(name for part in (instance_ids or "").split(",") if (name := part.strip()))
    if instance_ids is not None and not listed:
        raise UsageError(f"--instance-ids {instance_ids!r} names no instance: give ids separated by commas")
    return (*(instance_id or ()), *listed)
