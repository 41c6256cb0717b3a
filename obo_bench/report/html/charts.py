"""The geometry of the charts, in percent of the width that a screen has: text keeps its size on a phone."""

from collections.abc import Sequence
from dataclasses import dataclass

from obo_bench.report.document.parts import ScoreBin

COLUMN_HEIGHT = 190
"""Pixels of the highest column."""


@dataclass(frozen=True)
class Column:
    """One column of the distribution of scores."""

    label: str
    """What stands below it."""
    meaning: str
    """The range in full."""
    count: int
    """What it counts."""
    x: float
    """Left edge in percent."""
    width: float
    """Width in percent."""
    height: float
    """Height in pixels."""


def columns(bins: Sequence[ScoreBin]) -> list[Column]:
    """Return the columns of a distribution."""
    highest = max((found.count for found in bins), default=0) or 1
    step = 100 / max(len(bins), 1)
    return [
        Column(
            label=_short(found.label),
            meaning=found.label,
            count=found.count,
            x=round(number * step + step * 0.12, 3),
            width=round(step * 0.76, 3),
            height=round(found.count / highest * COLUMN_HEIGHT, 1),
        )
        for number, found in enumerate(bins)
    ]


def _short(label: str) -> str:
    _, dash, upper = label.partition("-")
    return f"<{upper.removeprefix('0').removesuffix('.0')}" if dash else label


def share(value: float | None, largest: float) -> float:
    """Return a bar's width in percent of the largest value; something that is not nothing can be seen."""
    if not value or not largest:
        return 0.0
    return round(max(value / largest * 100, 0.8), 2)
