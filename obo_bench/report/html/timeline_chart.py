"""The timeline of workers, in percent of the width that a screen has: text keeps its size on a phone."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from obo_bench.report.document import words
from obo_bench.report.document.model import TimelineBar

LANE_HEIGHT = 36
"""Pixels of one line: a label, and the bar below it."""
_THINNEST = 0.15
"""Percent; what is shorter could not be seen."""
_ROOM_OF_A_LABEL = 2.0
"""Percent; in less, not even its number could be read."""
_GAP = 0.5
"""Percent between two labels."""
_TICKS = 6
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_PHASES = ("prepare", "queued", "solve", "left", "package", "evaluation")
"""Phases that have a colour of their own."""
_DONE = ("completed", "skipped")
_FAILED = "\u00d7 "
"""Stands before the label of an attempt that came to nothing, which no colour alone must tell."""


@dataclass(frozen=True)
class Segment:
    """One phase of a bar."""

    x: float
    """Left edge in percent of the chart."""
    width: float
    """Width in percent of the chart."""
    phase: str
    """The phase, `other` where it has no colour."""


@dataclass(frozen=True)
class Bar:
    """One attempt or evaluation on the timeline."""

    instance_id: str
    """The instance."""
    x: float
    """Left edge in percent."""
    width: float
    """Width in percent."""
    y: int
    """Upper edge of its line in pixels."""
    label: str
    """Number of the instance and its short name; empty where there is no room."""
    label_x: float
    """Left edge of the label's room in percent."""
    label_width: float
    """Width of that room in percent; what is longer is cut off."""
    label_ends: bool
    """Whether the label ends with the bar instead of beginning with it."""
    title: str
    """What it is, for people."""
    failed: bool
    """Whether the attempt came to nothing."""
    segments: list[Segment]
    """Its phases."""


@dataclass(frozen=True)
class Tick:
    """One mark of the time axis."""

    x: float
    """Place in percent."""
    label: str
    """The time in UTC."""


@dataclass(frozen=True)
class Timeline:
    """The timeline of workers."""

    lanes: int
    """How many attempts were at work at once, at most."""
    height: int
    """Pixels of all lines."""
    bars: list[Bar]
    """The attempts and evaluations."""
    ticks: list[Tick]
    """The time axis."""
    begin: str
    """The first beginning."""
    end: str
    """The last end."""
    span: str
    """From the one to the other."""
    phases: list[str]
    """Phases that occur, for the legend."""


def timeline(bars: Sequence[TimelineBar], instance_ids: Sequence[str]) -> Timeline | None:
    """Return the timeline, or None when no attempt has a duration; bars bear the numbers of their instances."""
    if not any(bar.kind == "attempt" for bar in bars):
        return None
    begin, end = min(bar.start_unix for bar in bars), max(bar.end_unix for bar in bars)
    span = max(end - begin, 0.001)
    lanes = max(bar.lane for bar in bars) + 1
    numbers = {instance_id: number for number, instance_id in enumerate(instance_ids, 1)}
    told = {phase for bar in bars for phase in bar.durations}
    return Timeline(
        lanes=lanes,
        height=lanes * LANE_HEIGHT,
        bars=[
            _bar(bar, numbers.get(bar.instance_id, 0), begin, span, _room(bar, bars[:at], bars[at + 1 :], begin, end))
            for at, bar in enumerate(bars)
        ],
        ticks=_ticks(begin, span),
        begin=words.moment(begin),
        end=words.moment(end),
        span=words.seconds(span),
        phases=[phase for phase in _PHASES if phase in told],
    )


def _room(
    bar: TimelineBar, before: Sequence[TimelineBar], after: Sequence[TimelineBar], begin: float, end: float
) -> tuple[float, float]:
    """Return from when to when the line is free for the label: to the next bar; for the first one also before it."""
    following = next((other.start_unix for other in after if other.lane == bar.lane), end)
    first = all(other.lane != bar.lane for other in before)
    return begin if first else bar.start_unix, following


def _bar(bar: TimelineBar, number: int, begin: float, span: float, free: tuple[float, float]) -> Bar:
    x, failed = (bar.start_unix - begin) / span * 100, bar.kind == "attempt" and bar.status not in _DONE
    label_x, label_width = x, max((free[1] - bar.start_unix) / span * 100 - _GAP, 0.0)
    to_the_left = label_width < _ROOM_OF_A_LABEL
    if to_the_left:
        label_x, label_width = (free[0] - begin) / span * 100, max((bar.end_unix - free[0]) / span * 100, 0.0)
    phases = ", ".join(f"{words.spaced(phase)} {words.seconds(lasted)}" for phase, lasted in bar.durations.items())
    subject = f"{bar.instance_id}, attempt {bar.attempt}" if bar.kind == "attempt" else bar.instance_id
    text = f"{_FAILED if failed else ''}{number} {short(bar.instance_id)}"
    return Bar(
        instance_id=bar.instance_id,
        x=round(x, 3),
        width=round(max((bar.end_unix - bar.start_unix) / span * 100, _THINNEST), 3),
        y=bar.lane * LANE_HEIGHT,
        label=text if label_width >= _ROOM_OF_A_LABEL else "",
        label_x=round(label_x, 3),
        label_width=round(label_width, 3),
        label_ends=to_the_left,
        title=f"{subject}: {words.spaced(bar.status)}; from {words.moment(bar.start_unix)}: {phases}",
        failed=failed,
        segments=list(_segments(bar, begin, span)),
    )


def short(instance_id: str) -> str:
    """Return the project of an instance, without its owner and commit."""
    _, _, project = instance_id.rpartition("__")
    return project.rpartition(".")[0] or project


def _segments(bar: TimelineBar, begin: float, span: float) -> Iterator[Segment]:
    at = bar.start_unix - begin
    for phase, lasted in bar.durations.items():
        yield Segment(
            x=round(at / span * 100, 3),
            width=round(max(lasted / span * 100, _THINNEST), 3),
            phase=phase if phase in _PHASES else "other",
        )
        at += lasted


def _ticks(begin: float, span: float) -> list[Tick]:
    step = next((step for step in _STEPS if span / step <= _TICKS), 86400 * math.ceil(span / 86400 / _TICKS))
    first = math.ceil(begin / step)
    marks = [at * step for at in range(first, math.floor((begin + span) / step) + 1)]
    return [Tick(round((mark - begin) / span * 100, 3), _clock(mark, step)) for mark in marks]


def _clock(moment: int, step: int) -> str:
    """Return a time of the wall clock as exactly as the marks of the axis need it."""
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 21600 else "%m-%d %Hh"
    try:
        return time.strftime(form, time.gmtime(moment))
    except (OSError, OverflowError, ValueError):
        return ""
