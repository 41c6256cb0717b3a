"""Foreign text made fit for a cell of the board: one line, of a known width, in letters that the terminal has."""

import unicodedata

from obo_bench.core.reporter import printable

_LONGEST_CELL = 500
_SPACING = frozenset({"Mn", "Me", "Cf"})
"""Marks that stand on the character before them: terminals do not agree on how wide those are together."""


def clean(text: str, encoding: str = "utf-8") -> str:
    """Return text as every terminal of this encoding shows it, column for column.

    Characters that are read from right to left would move what stands beside them, so they become `?` as well.
    """
    kept = unicodedata.normalize("NFC", printable(text[:_LONGEST_CELL]))
    shown = "".join(_shown(character) for character in kept)
    return shown.encode(encoding, "replace").decode(encoding, "replace")


def can_draw(encoding: str, characters: str) -> bool:
    """Say whether an encoding has these characters."""
    try:
        characters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _shown(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.bidirectional(character) in {"R", "AL", "AN"}:
        return "?"
    return "" if unicodedata.category(character) in _SPACING else character
