"""Find many secrets in one pass over a text, also those that were cut off at the front or at the end."""

import re
from collections.abc import Iterable, Iterator

from obo_bench.core.secret_forms import forms_of

_WHOLE_BELOW = 12
"""Forms of fewer characters are found as a whole only: a part of them is too common."""
_HALF_FROM = 24
"""Of forms of so many characters half is enough, of shorter ones two thirds."""
_SHORTEST_PIECE = 8

_Tree = dict[str, "_Tree"]


class SecretSearch:
    """An immutable index of secrets.

    A text is searched for the first and the last part of every form of every secret; where one stands, all that
    agrees with the form around it belongs to the find.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._places: dict[str, list[tuple[str, int]]] = {}
        for secret in secrets:
            for form in forms_of(secret):
                for piece, offset in _pieces(form, whole=_is_place(secret)):
                    self._places.setdefault(piece, []).append((form, offset))
        self._pattern = re.compile(_any_of(self._places)) if self._places else None

    def mask(self, text: str, mask: str) -> str:
        """Return `text` with every find replaced."""
        if self._pattern is None or self._pattern.search(text) is None:
            return text
        parts, done = [], 0
        for start, end in self._finds(self._pattern, text):
            parts += [text[done:start], mask]
            done = end
        return "".join([*parts, text[done:]])

    def _finds(self, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
        done = 0
        while (found := pattern.search(text, done)) is not None:
            spans = [_agreeing(text, found.start(), form, offset) for form, offset in self._at(found.group())]
            done = max(span[1] for span in spans)
            yield min(span[0] for span in spans), done

    def _at(self, found: str) -> list[tuple[str, int]]:
        """Return the forms that stand where `found` does: pieces of others may be the beginning of it."""
        return [place for size in range(1, len(found) + 1) for place in self._places.get(found[:size], ())]


def _is_place(secret: str) -> bool:
    """Say whether it is a path or an address: names hold such things, too, and parts of them are in other paths."""
    return secret.startswith(("/", "~", ".")) or "://" in secret


def _pieces(form: str, *, whole: bool) -> list[tuple[str, int]]:
    """Return what a text is searched for to find `form`, and where in the form it stands."""
    size = len(form)
    if whole or size < _WHOLE_BELOW:
        return [(form, 0)]
    part = size // 2 if size >= _HALF_FROM else max(_SHORTEST_PIECE, size - size // 3)
    return [(form[:part], 0), (form[size - part :], size - part)]


def _agreeing(text: str, at: int, form: str, offset: int) -> tuple[int, int]:
    """Return the span of `text` around `at` that agrees with `form` around `offset`."""
    start, first = at, offset
    while start > 0 and first > 0 and text[start - 1] == form[first - 1]:
        start, first = start - 1, first - 1
    end, last = at, offset
    while end < len(text) and last < len(form) and text[end] == form[last]:
        end, last = end + 1, last + 1
    return start, end


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern for the longest of `words` at a place, as a tree: tried one by one, hundreds take seconds."""
    tree: _Tree = {}
    for word in words:
        node = tree
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return _branches(tree)


def _branches(tree: _Tree) -> str:
    chain = []
    while len(tree) == 1:
        [(character, tree)] = tree.items()
        chain.append(re.escape(character))
    if tree:
        longer = "|".join(re.escape(character) + _branches(tree[character]) for character in tree if character)
        chain.append(f"(?:{longer}){'?' if '' in tree else ''}")
    return "".join(chain)
