"""`obo-bench schema`: the JSON Schema of every document that other tools may read."""

import json
from typing import Annotated

import typer

from obo_bench.cli import answer, arguments, completion
from obo_bench.cli.panels import LOOK
from obo_bench.core.refusals import UsageError


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="FORMAT",
            help="Document, such as manifest; without it they are listed.",
            autocompletion=completion.formats,
            show_default=False,
        ),
    ] = None,
    json_: arguments.Json = False,
) -> None:
    """Print the JSON Schema (draft 2020-12) of a document: what this version writes.

    Example: obo-bench schema manifest > run_manifest.schema.json

    Readers should expect further fields and words: a later version of the same format may add them.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.core.json_schema import format_name, json_schema
    from obo_bench.report.wire_formats import FORMATS

    if name is None:
        known = {known: format_name(model) for known, model in FORMATS.items()}
        width = max(map(len, known))
        answer.give("schema", "\n".join(f"{key:<{width}}  {value}" for key, value in known.items()), {"formats": known})
        return
    if name not in FORMATS:
        raise UsageError(f"schema {name!r}: there is no such format; known are {', '.join(FORMATS)}")
    document = json_schema(FORMATS[name])
    answer.give("schema", json.dumps(document, ensure_ascii=False, indent=2), {"name": name, "schema": document})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "schema",
        short_help="Print the JSON Schema of a document that is written.",
        rich_help_panel=LOOK,
        epilog="Exit status: 0 printed, 2 usage.",
    )(schema)
