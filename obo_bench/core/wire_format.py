"""What all wire formats have in common: what goes to disk, and what a reader makes of a later version's document.

Writing is strict: only the words and types of this version. Reading keeps what it does not know.
"""

import math
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticOmit, core_schema, to_jsonable_python

READING = {"reading": True}
"""Validation context of the readers; without it a word outside of its vocabulary is an error."""


class LaterWord(str):
    """A word that this version does not know in a closed vocabulary, such as an outcome added later.

    Only readers make one; it is written again as it was. The published JSON Schema lists the known words only.
    """

    __slots__ = ()

    @classmethod
    def _accept(cls, value: object, info: ValidationInfo) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and info.context is READING:
            return cls(value)
        raise ValueError("not a word of the vocabulary")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by `_accept` (pydantic's protocol)."""
        del source, handler
        return core_schema.with_info_plain_validator_function(cls._accept)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Stay out of the JSON Schema (pydantic's protocol)."""
        raise PydanticOmit


class WireModel(BaseModel):
    """Base of the wire formats; unknown fields are kept and written again."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    def document(self) -> dict[str, Any]:
        """Return the document as JSON values, under the names of the wire."""
        return {str(key): _plain(value) for key, value in self.model_dump(by_alias=True).items()}


def _plain(value: Any) -> Any:
    """Return `value` as JSON values.

    pydantic's own JSON mode is no help here: it damages the keys of a mapping that are not valid Unicode.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no word for it, and one in a foreign record would make the whole document unreadable to others.
        return None
    return to_jsonable_python(value, fallback=str)
