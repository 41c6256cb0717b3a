"""The geometry of the charts, in percent of the width that a screen has: text keeps its size on a phone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from obo_bench.report.document import words
from obo_bench.report.document.model import TimelineBar
from obo_bench.report.document.parts import ScoreBin

COLUMN_HEIGHT = 190
"""Pixels of the highest column."""
LANE_HEIGHT = 22
"""Pixels of one line of the timeline."""
_THINNEST = 0.15
"""Percent; what is shorter could not be seen."""
_TICKS = 6
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
PHASES = ("prepare", "queued", "solve", "package")
"""Phases that have a colour of their own."""


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


@dataclass(frozen=True)
class Segment:
    """One phase of an attempt on the timeline."""

    x: float
    """Left edge in percent."""
    width: float
    """Width in percent."""
    y: int
    """Upper edge in pixels."""
    phase: str
    """The phase, `other` where it has no colour."""
    title: str
    """What it is, for people."""


@dataclass(frozen=True)
class Tick:
    """One mark of the time axis."""

    x: float
    """Place in percent."""
    label: str
    """Time since the beginning."""


@dataclass(frozen=True)
class Timeline:
    """The timeline of workers."""

    lanes: int
    """How many attempts were at work at once, at most."""
    height: int
    """Pixels of all lines."""
    segments: list[Segment]
    """The attempts."""
    ticks: list[Tick]
    """The time axis."""
    span: str
    """From the first beginning to the last end."""


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


def timeline(bars: Sequence[TimelineBar]) -> Timeline | None:
    """Return the timeline, or None when no attempt has a duration."""
    if not bars:
        return None
    begin, end = min(bar.start_unix for bar in bars), max(bar.end_unix for bar in bars)
    span = max(end - begin, 0.001)
    lanes = max(bar.lane for bar in bars) + 1
    return Timeline(
        lanes=lanes,
        height=lanes * LANE_HEIGHT,
        segments=[segment for bar in bars for segment in _segments(bar, begin, span)],
        ticks=_ticks(span),
        span=words.seconds(span),
    )


def _segments(bar: TimelineBar, begin: float, span: float) -> list[Segment]:
    found, at = [], bar.start_unix - begin
    for phase, lasted in bar.durations.items():
        title = f"{bar.instance_id}, attempt {bar.attempt}: {words.spaced(phase)} {words.seconds(lasted)}"
        found.append(
            Segment(
                x=round(at / span * 100, 3),
                width=round(max(lasted / span * 100, _THINNEST), 3),
                y=bar.lane * LANE_HEIGHT + 3,
                phase=phase if phase in PHASES else "other",
                title=title,
            )
        )
        at += lasted
    return found


def _ticks(span: float) -> list[Tick]:
    step = next((step for step in _STEPS if span / step <= _TICKS), 86400 * math.ceil(span / 86400 / _TICKS))
    return [Tick(round(at * step / span * 100, 3), _since(at * step)) for at in range(int(span / step) + 1)]


def _since(value: int) -> str:
    if value < 60:
        return f"{value} s"
    return f"{value // 60} min" if value < 3600 else f"{value // 3600}:{value % 3600 // 60:02d} h"
