"""The published JSON Schema of a wire format, with the docstrings of its attributes as descriptions.

They are read from the source when a schema is asked for: pydantic's `use_attribute_docstrings` would read and parse
the source of every format at each start.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from obo_bench.core.wire_format import WireModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def format_name(model: type[WireModel]) -> str:
    """Return the string that documents of the format carry under `schema`."""
    return str(next(field.default for field in model.model_fields.values() if field.alias == "schema"))


def json_schema(model: type[WireModel]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the documents that this version writes."""
    schema = model.model_json_schema(by_alias=True, mode="serialization", schema_generator=_Generator)
    return {"$schema": DIALECT, "$id": format_name(model), **schema}


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Set no titles that only repeat the field's name."""
        del schema
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Add the descriptions."""
        generated = super().model_schema(schema)
        model = schema["cls"]
        for name, text in _documented(model):
            field = model.model_fields.get(name)
            if field is not None:
                generated["properties"][field.alias or name]["description"] = text
        return generated


def _documented(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield every attribute with its text, those of the bases first."""
    for base in reversed(model.__mro__):
        if issubclass(base, WireModel):
            yield from _attribute_docstrings(base)


def _attribute_docstrings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield every attribute of the class that is followed by a string, with that string."""
    definition = cast("ast.ClassDef", ast.parse(textwrap.dedent(inspect.getsource(model))).body[0])
    for statement, following in pairwise(definition.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
