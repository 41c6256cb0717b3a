"""Foreign text in a report: redacted, bounded, and without what drives a terminal or turns a line around."""

from typing import TypeVar

from obo_bench.core.redact import process_redactor
from obo_bench.core.wire_format import WireModel

LONGEST_TEXT = 600
"""Characters of one text that a report shows."""

Document = TypeVar("Document", bound=WireModel)


def cleaned(document: Document) -> Document:
    """Return the document with every text of it fit to be shown."""
    return type(document).model_validate(_clean(process_redactor().document(document.document())))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(str(key)): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def shown(text: str) -> str:
    """Return a text as one bounded line; control, format and bidi characters and lone surrogates become blanks."""
    kept = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} [cut: {len(text)} characters]"
    return kept if kept.isprintable() else "".join(c if c.isprintable() else " " for c in kept)
