"""The answer of `--explain`, from what a recorded command was about to be admitted with."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

from obo_bench.cli import answer, origins, variables
from obo_bench.cli.parsing import Context
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.explanation import ExplainedValue, Explanation
from obo_bench.core.redact import process_redactor
from obo_bench.core.reporter import printable


def give(context: Context, request: AdmissionRequest) -> None:
    """Answer with all values of the command, secrets masked."""
    document: dict[str, Any] = process_redactor().document(explanation(context, request).document())
    answer.give(request.command, "\n".join(_lines(document)), document)


def explanation(context: Context, request: AdmissionRequest) -> Explanation:
    """Return what the command would be admitted with."""
    found = origins.origins(context)
    values = {}
    for parameter in origins.shown(context):
        flag, name = variables.flag_of(parameter), origins.key(parameter)
        values[name] = ExplainedValue(
            value=_effective(name, context.params.get(parameter.name), request),
            origin=found[name],
            variables=list(variables.names(flag)) if flag else [],
        )
    return Explanation(
        command=request.command,
        run_root=str(request.run_root),
        manifest=str(request.run_root / request.manifest_name),
        values=values,
    )


def _effective(name: str, given: object, request: AdmissionRequest) -> object:
    """Return a value as JSON; of a place, what the command has made of it."""
    implied = {"repo_dir": request.repo_dir, "settings_path": request.settings_path}
    value: object = implied.get(name) or given
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def _lines(document: dict[str, Any]) -> list[str]:
    values = document["values"]
    width = max(len(name) for name in values)
    head = [f"command   {document['command']}", f"run root  {document['run_root']}"]
    return [printable(line) for line in head] + [
        printable(f"  {name:<{width}}  {json.dumps(told['value'], ensure_ascii=False)}  ({told['origin']})")
        for name, told in values.items()
    ]
