"""The rows of the board: one for each instance at work, in as many columns as there is room for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obo_bench.core.forecast import duration_text
from obo_bench.core.run_state import InstanceState, Snapshot
from obo_bench.report.board.cells import clean
from obo_bench.report.board.style import PHASE_STYLES, signs_for

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
_LEAST_WITH_HEADING = 4
"""Lines that a heading, two instances and the count of the others take."""


@dataclass(frozen=True)
class _Column:
    """One column."""

    name: str
    """Its heading."""
    from_width: int
    """Columns that the terminal must have for it."""
    text: Callable[[InstanceState, float], str]
    """What it says of an instance, at a moment."""
    most: int
    """Columns that it takes at most."""
    right: bool = False
    """Whether it holds a number."""
    style: Callable[[InstanceState], str] = lambda _: ""
    """How it looks for an instance."""


def _phase(instance: InstanceState, _now: float) -> str:
    change = instance.change
    detail = change.progress or (change.status if change.status != change.phase else "")
    return f"{change.phase} ({detail})" if detail else str(change.phase)


def _phase_style(instance: InstanceState) -> str:
    phase = instance.change.phase
    return PHASE_STYLES.get(phase, "") if phase else ""


def _cost(instance: InstanceState, _now: float) -> str:
    cost = instance.change.cost_usd
    return "" if cost is None else f"{cost:.2f}"


def _container_style(instance: InstanceState) -> str:
    return "green" if instance.change.container == "up" else "bold red"


_COLUMNS: Sequence[_Column] = (
    _Column("instance", 0, lambda instance, _: instance.change.subject, 40),
    _Column("phase", 30, _phase, 40, style=_phase_style),
    _Column("time", 24, lambda instance, now: duration_text(now - instance.phase_begun), 9, right=True),
    _Column("rounds", 64, lambda instance, _: _number(instance.change.rounds), 6, right=True),
    _Column("USD", 64, _cost, 8, right=True),
    _Column("container", 80, lambda instance, _: instance.change.container or "", 20, style=_container_style),
    _Column("task", 110, lambda instance, _: instance.change.task_id or "", 60),
)


def instance_rows(snapshot: Snapshot, width: int, height: int, encoding: str) -> "Iterator[Text]":
    """Give a heading and a line for each instance at work, `height` lines at most; say how many have no room.

    Where the heading would take the room of the only rows, it is left out.
    """
    from rich.text import Text

    columns = [column for column in _COLUMNS if width >= column.from_width]
    heading = height >= _LEAST_WITH_HEADING or len(snapshot.active) < height
    shown, hidden = _fitting(snapshot.active, height - heading)
    cells = [[clean(column.text(instance, snapshot.now), encoding) for column in columns] for instance in shown]
    widths = _widths(columns, cells, width)
    if heading:
        yield _line(columns, [column.name for column in columns], widths, ["dim"] * len(columns), encoding)
    for instance, texts in zip(shown, cells, strict=True):
        yield _line(columns, texts, widths, [column.style(instance) for column in columns], encoding)
    if hidden:
        yield Text(f"{signs_for(encoding).more} {hidden} more at work", style="dim")


def _fitting(active: Sequence[InstanceState], room: int) -> tuple[Sequence[InstanceState], int]:
    if len(active) <= room:
        return active, 0
    shown = active[: max(room - 1, 0)]
    return shown, len(active) - len(shown)


def _widths(columns: Sequence[_Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Give each column what it needs; where that is too much, the widest ones give way."""
    from rich.cells import cell_len

    widths = [
        min(max([len(column.name), *(cell_len(texts[index]) for texts in cells)]), column.most)
        for index, column in enumerate(columns)
    ]
    while sum(widths) + _GAP * (len(widths) - 1) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(
    columns: Sequence[_Column], texts: Sequence[str], widths: Sequence[int], styles: Sequence[str], encoding: str
) -> "Text":
    from rich.text import Text

    line = Text()
    for column, text, width, style in zip(columns, texts, widths, styles, strict=True):
        if line:
            line.append(" " * _GAP)
        line.append(_fitted(text, width, signs_for(encoding).more, right=column.right), style=style)
    line.rstrip()
    return line


def _fitted(text: str, width: int, more: str, *, right: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - len(more)) + more
    return " " * (width - length) + text if right else text + " " * (width - length)


def _number(number: int | None) -> str:
    return "" if number is None else str(number)
