"""Every answer of `--json` that any test looks at is of the published formats."""

import functools
from typing import Any

import jsonschema

from obo_bench.core.json_schema import format_name, json_schema
from obo_bench.report.wire_formats import FORMATS

WITHOUT_FORMAT = {"reasons", "schema"}
"""Commands whose result is the published text itself."""
_ANOTHER_QUESTION = {"variable", "set", "value", "waives", "meaning"}
"""The result of `attest --explain-override`."""


def check_answer(envelope: dict[str, Any]) -> None:
    """Validate an answer, and the command's own result within, as far as the command came to one."""
    validator("obo_bench.result.v1").validate(envelope)
    result = envelope["result"]
    if not result or envelope["command"] in WITHOUT_FORMAT or set(result) <= _ANOTHER_QUESTION:
        return
    validator(result["schema"]).validate(result)


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a format, by the string that its documents carry."""
    [schema] = [json_schema(model) for model in {*FORMATS.values()} if format_name(model) == name]
    return jsonschema.Draft202012Validator(schema)
