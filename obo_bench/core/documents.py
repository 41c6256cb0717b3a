"""Read the project's documents, also those of an earlier or a later version: one reader for every wire format."""

import json
import os
import re
from typing import TypeVar

from pydantic import ValidationError

from obo_bench.core.files import read_whole
from obo_bench.core.why import why
from obo_bench.core.wire_format import READING, WireModel

Document = TypeVar("Document", bound=WireModel)

_UNION_BRANCH = re.compile(r"[\w-]+\[.*\]")
"""What pydantic puts into the place of an error for the branches that it tried; no field is called so."""
_LONGEST_FIELD = 200


class UnreadableDocument(ValueError):
    """A document that is not there, not whole, or not what its format says."""

    def __init__(self, path: str, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}" if field else f"{path}: {problem}")
        self.path = path
        """The file."""
        self.field = field
        """The field that is wrong, dotted; empty when the file as a whole is."""
        self.problem = problem
        """What is wrong, and what can be done."""


def read_document(model: type[Document], path: str | os.PathLike[str]) -> Document:
    """Return the document in `path`; fields it lacks have their defaults, fields nobody knows are kept.

    Raises UnreadableDocument.
    """
    try:
        data = read_whole(path)
    except OSError as error:
        raise UnreadableDocument(str(path), "", f"cannot be read: {why(error)}") from error
    try:
        return parse_document(model, data)
    except ValidationError as error:
        raise UnreadableDocument(str(path), *_explained(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(str(path), "", f"is not a JSON document: {why(error)}") from error


def parse_document(model: type[Document], data: bytes) -> Document:
    """Return the document in `data`; raises ValueError (a ValidationError for wrong fields) or RecursionError."""
    try:
        return model.model_validate_json(data, strict=True, context=READING)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
    # Names that are not valid Unicode are written as lone surrogates, which pydantic's parser refuses: the types are
    # judged on a copy without them.
    value = json.loads(data)
    copy = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    model.model_validate_json(copy, strict=True, context=READING)
    return model.model_validate(value, context=READING)


def _explained(error: ValidationError) -> tuple[str, str]:
    """Return field and problem of the first error; the format's name comes before all others."""
    first = error.errors(include_url=False)[0]
    parts = [str(part) for part in first["loc"] if not _UNION_BRANCH.fullmatch(str(part))]
    # Keys of a mapping are foreign text.
    field = ".".join(part if part.isprintable() else ascii(part) for part in parts)[:_LONGEST_FIELD]
    if field == "schema":
        found = repr(first["input"])[:100]
        return field, f"{found} is a format that this version of obo-bench does not read: use the version that wrote it"
    return field, f"{first['msg']}: the file is damaged, or something else wrote it"
