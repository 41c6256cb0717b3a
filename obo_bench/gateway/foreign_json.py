"""JSON from a server, made harmless: valid Unicode, finite numbers that fit, and no deeper than anyone reads.

A record with one odd value in it may be that of a solve which cost six hours: what is odd is replaced, not refused.
"""

import json
import math
import re
from typing import Any

DEEPEST = 64
"""Levels that are kept; the recorded answers have up to nine."""
CUT = "[cut: nested too deeply]"
REPLACEMENT = "\ufffd"
"""What stands for whatever was not text."""
_LARGEST_INTEGER = 2**63 - 1
_LONGEST_TEXT = 4000
_MOST_ENTRIES = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(body: bytes) -> Any:
    """Return the value of a JSON text; raises ValueError or RecursionError for what is none.

    Bytes that are not UTF-8 and lone surrogates become U+FFFD, numbers that no double or 64-bit integer holds become
    None, and of a key that is repeated the last value counts, as for the server itself.
    """
    text = body.decode("utf-8-sig", "replace")
    try:
        value = json.loads(text, parse_constant=_nothing)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # An integer of more digits than Python converts.
        value = json.loads(text, parse_constant=_nothing, parse_int=_integer)
    top = [value]
    _clean(top)
    return top[0]


def excerpt(value: Any) -> Any:
    """Return a copy without what is long: texts of more than 4000 characters, entries after the hundredth."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]} [cut: {len(value)} characters]"
    if isinstance(value, dict):
        kept = {key: excerpt(item) for key, item in list(value.items())[:_MOST_ENTRIES]}
        return kept if len(kept) == len(value) else {**kept, "[cut]": f"{len(value)} entries"}
    if isinstance(value, list):
        kept_items = [excerpt(item) for item in value[:_MOST_ENTRIES]]
        return kept_items if len(kept_items) == len(value) else [*kept_items, f"[cut: {len(value)} entries]"]
    return value


def _clean(top: list[Any]) -> None:
    """Clean containers in place, without recursion: their depth is the sender's choice."""
    waiting: list[tuple[Any, int]] = [(top, 0)]
    while waiting:
        container, depth = waiting.pop()
        if isinstance(container, dict):
            _clean_keys(container)
        for key, value in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(value, dict | list):
                if depth < DEEPEST:
                    waiting.append((value, depth + 1))
                else:
                    container[key] = CUT
            elif (clean := _scalar(value)) is not value:
                container[key] = clean


def _clean_keys(mapping: dict[str, Any]) -> None:
    for key in [key for key in mapping if not key.isascii() and _SURROGATE.search(key)]:
        mapping[_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", key)] = mapping.pop(key)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        odd = not value.isascii() and _SURROGATE.search(value)
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value) if odd else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_INTEGER else None
    return value


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) < 40 else None


def _nothing(_: str) -> None:
    return None
