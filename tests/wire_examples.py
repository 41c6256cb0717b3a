"""Examples of the wire formats, made from the models themselves: a new field is in them at once."""

import types
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from obo_bench.core.wire_format import LaterWord

TEXT = "„naïve“ 试"
NOT_UNICODE = "a\udcffb"
"""What Python makes of the file name b'a\\xffb'."""
LATER_WORD = "word_of_a_later_version"
_SCALARS: dict[Any, Any] = {bool: True, int: 2**53 + 1, float: 1795988464.2562413}
_ANYTHING = {"number": 10**30, "huge": 1.7976931348623157e308, "list": [None, False, -0.5], "empty": {}}


def example(annotation: Any, *, text: str = TEXT, later: bool = False) -> Any:
    """Return JSON with every field set: `text` in free strings and, if `later`, what only a later version knows."""
    if get_origin(annotation) in (Union, types.UnionType):
        return _of_union(get_args(annotation), text, later)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return of_model(annotation, text=text, later=later)
    if get_origin(annotation) is Literal:
        return get_args(annotation)[-1]
    if _is_enum(annotation):
        return list(annotation)[-1].value
    return _of_container(annotation, text, later)


def of_model(model: type[BaseModel], *, text: str = TEXT, later: bool = False) -> dict[str, Any]:
    """Return a document of the format."""
    document = {
        field.alias or name: example(field.annotation, text=f"{name} {text}", later=later)
        for name, field in model.model_fields.items()
    }
    return {**document, "added_later": {"by": LATER_WORD}} if later else document


def closed_vocabularies(model: type[BaseModel]) -> Iterator[str]:
    """Yield the fields, nested ones included, that could not take a word of a later version."""
    for name, field in model.model_fields.items():
        parts = list(_parts(field.annotation))
        words = [part for part in parts if _is_enum(part) or (get_origin(part) is Literal and len(get_args(part)) > 1)]
        if words and LaterWord not in parts:
            yield f"{model.__name__}.{name}"
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from closed_vocabularies(part)


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield from _parts(part)


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Enum)


def _of_union(choices: tuple[Any, ...], text: str, later: bool) -> Any:
    if later and LaterWord in choices:
        return LATER_WORD
    known = [choice for choice in choices if choice not in (LaterWord, type(None))]
    return example(known[0], text=text, later=later)


def _of_container(annotation: Any, text: str, later: bool) -> Any:
    arguments = get_args(annotation)
    match get_origin(annotation):
        case kind if kind in (list, tuple):
            return [example(arguments[0], text=text, later=later)] * 2
        case kind if kind is dict:
            return {f"key {text}": example(arguments[1], text=text, later=later)}
    if annotation is Any:
        return {**_ANYTHING, f"key {text}": text}
    return text if annotation is str else _SCALARS[annotation]
