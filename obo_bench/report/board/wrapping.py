"""Events on the board: a long one takes the rows that nothing else needs; where there are none its words give way."""

from collections.abc import Iterator, Sequence

from obo_bench.report.board.style import signs_for

_INDENT = "  "
_SHORTEST_WORD = 12
"""Columns that a shortened id or URL keeps at least."""


def fitted(texts: Sequence[str], width: int, spare: int, encoding: str) -> list[list[str]]:
    """Return the lines of each text, one at least; `spare` further ones go to those that need them, the last first."""
    given = []
    for text in reversed(texts):
        lines = _within(text, width, 1 + spare, signs_for(encoding).more)
        spare -= len(lines) - 1
        given.append(lines)
    return given[::-1]


def _within(text: str, width: int, most: int, more: str) -> list[str]:
    lines = list(_wrapped(text, width))
    if len(lines) > most:
        # What a message ends with is its cause: it matters more than the middle of an address.
        lines = _with_shorter_words(text.split(" "), width, most, more)
    if len(lines) > most:
        rest = " ".join([lines[most - 1], *(line.strip() for line in lines[most:])])
        lines = [*lines[: most - 1], shortened(rest, width, more, tail=0)]
    return lines


def _with_shorter_words(words: Sequence[str], width: int, most: int, more: str) -> list[str]:
    """Take a quarter from the longest word until the lines are few enough, or no word is long any more."""
    from rich.cells import cell_len

    shown, widths = list(words), [cell_len(word) for word in words]
    lines = list(_wrapped(" ".join(shown), width))
    while len(lines) > most and max(widths) > _SHORTEST_WORD:
        at = widths.index(max(widths))
        widths[at] = max(widths[at] * 3 // 4, _SHORTEST_WORD)
        shown[at] = shortened(words[at], widths[at], more)
        lines = list(_wrapped(" ".join(shown), width))
    return lines


def shortened(text: str, width: int, more: str, *, tail: int | None = None) -> str:
    """Return a text of `width` columns at most, without its middle; `tail` columns of its end are kept, or half."""
    from rich.cells import cell_len, set_cell_size

    room = width - cell_len(more)
    if cell_len(text) <= width or room < 1:
        return text
    kept = min(room // 2 if tail is None else tail, room)
    end = text[len(text) - kept :] if kept else ""
    while cell_len(end) > kept:
        end = end[1:]
    return set_cell_size(text, room - cell_len(end)).rstrip(f" {more}") + more + end


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Give lines of at most so many columns, broken at blanks where that is possible; the first is not indented."""
    from rich.cells import cell_len

    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line.strip() else f"{line}{word}"
        if cell_len(joined) <= width or not line.strip():
            line = joined
        else:
            yield line
            line = f"{_INDENT}{word}"
        while cell_len(line) > width > len(_INDENT) + 1:
            head = _head(line, width)
            yield head
            line = f"{_INDENT}{line[len(head) :]}"
    yield line


def _head(text: str, width: int) -> str:
    """Return the beginning of a text that takes so many columns, one character at least beyond the indentation."""
    from rich.cells import cell_len

    at = 0
    used = 0
    while at < len(text) and (used := used + cell_len(text[at])) <= width:
        at += 1
    return text[: max(at, len(_INDENT) + 1)]
