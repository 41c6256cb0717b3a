"""How a run stands: kept up to date by its changes, and read by whatever shows it."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from obo_bench.core.reporter import Reporter, told
from obo_bench.core.run_changes import Change, InstanceChange, InstanceEnded, Phase, RunChange

_SOLVES = frozenset({Phase.RUNNING, Phase.EVALUATION})
"""Phases from which on nothing is waited for any more: no image, no worker of the server."""
_NOT_DONE = "not_attempted"
KEPT_EVENTS = 30
"""The latest events that are kept for a display."""

Facts = TypeVar("Facts", RunChange, InstanceChange)


@dataclass(frozen=True)
class InstanceState:
    """One instance at work."""

    change: InstanceChange
    """All that its changes have said."""
    begun: float
    """When its work began, on the state's clock in seconds."""
    phase_begun: float
    """When its phase began."""
    running_since: float | None = None
    """When a worker of the server, or the evaluator, had it; None before."""


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    at: str
    """Local time of day."""
    text: str
    """Fit for a terminal: one line, no secrets."""


@dataclass(frozen=True)
class Snapshot:
    """How a run stood at one moment; all times in seconds."""

    run: RunChange
    """All that is known of it."""
    elapsed_sec: float
    """Since it began."""
    now: float
    """The moment, on the clock of the instances' times."""
    active: Sequence[InstanceState] = ()
    """Instances at work, in the order of their beginning."""
    ended: Mapping[str, int] = field(default_factory=dict)
    """How many ended, by outcome."""
    worked_sec: Sequence[float] = ()
    """How long each instance of the stage took that had work."""
    ran_sec: Sequence[float] = ()
    """The same, without what was waited for before."""
    events: Sequence[Event] = ()
    """The latest events, oldest first."""

    @property
    def done(self) -> int:
        """How many instances of the stage have ended; one that was not attempted has not."""
        return sum(self.ended.values()) - self.ended.get(_NOT_DONE, 0)

    @property
    def waiting(self) -> int | None:
        """How many are still to begin; None while nobody knows how many there are."""
        gone = sum(self.ended.values()) + len(self.active)
        return None if self.run.total is None else max(self.run.total - gone, 0)

    @property
    def spent_usd(self) -> float | None:
        """What the run has cost, tasks at work included where the server tells."""
        known = [self.run.spent_usd, *(instance.change.cost_usd for instance in self.active)]
        amounts = [amount for amount in known if amount is not None]
        return sum(amounts) if amounts else None

    @property
    def unknown_costs(self) -> int:
        """How many tasks cost something that nobody knows, or does not know yet."""
        silent = [one for one in self.active if one.change.task_id is not None and one.change.cost_usd is None]
        return (self.run.unknown_costs or 0) + len(silent)


class RunState(Reporter):
    """Keeps how a run stands; a display of its own for whoever only wants to look at it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._started = clock()
        self._run = RunChange()
        self._active: dict[str, InstanceState] = {}
        self._ended: Counter[str] = Counter()
        self._gone: set[str] = set()
        self._worked: deque[float] = deque(maxlen=1000)
        self._ran: deque[float] = deque(maxlen=1000)
        self._events: deque[Event] = deque(maxlen=KEPT_EVENTS)

    def event(self, text: str, subject: str = "") -> None:
        """Keep one of the latest events."""
        event = Event(time.strftime("%H:%M:%S"), told(text, subject))
        with self._lock:
            self._events.append(event)

    def update(self, change: Change) -> None:
        """Take a change into account."""
        with self._lock:
            if isinstance(change, RunChange):
                self._run_changed(change)
            elif isinstance(change, InstanceChange):
                self._instance_changed(change)
            else:
                self._instance_ended(change)

    def snapshot(self) -> Snapshot:
        """Return how it stands now."""
        now = self._clock()
        with self._lock:
            return Snapshot(
                run=self._run,
                elapsed_sec=now - self._started,
                now=now,
                active=tuple(self._active.values()),
                ended=dict(self._ended),
                worked_sec=tuple(self._worked),
                ran_sec=tuple(self._ran),
                events=tuple(self._events),
            )

    def _run_changed(self, change: RunChange) -> None:
        if change.stage is not None and change.stage != self._run.stage:
            self._active.clear()
            self._ended.clear()
            self._gone.clear()
            self._worked.clear()
            self._ran.clear()
        self._run = _merged(self._run, change)

    def _instance_changed(self, change: InstanceChange) -> None:
        if change.subject in self._gone:
            # A worker that nobody waits for any more.
            return
        now, known = self._clock(), self._active.get(change.subject)
        if known is None:
            started = _merged(InstanceChange(change.subject, phase=Phase.WAITING), change)
            state = InstanceState(started, now, now)
        elif change.phase in (None, known.change.phase):
            state = replace(known, change=_merged(known.change, change))
        else:
            merged = _merged(replace(known.change, progress=None, status=None), change)
            state = replace(known, change=merged, phase_begun=now)
        if state.running_since is None and state.change.phase in _SOLVES:
            state = replace(state, running_since=now)
        self._active[change.subject] = state

    def _instance_ended(self, change: InstanceEnded) -> None:
        known = self._active.pop(change.subject, None)
        self._gone.add(change.subject)
        self._ended[change.outcome] += 1
        if known is None or not change.worked:
            return
        now = self._clock()
        self._worked.append(now - known.begun)
        if known.running_since is not None:
            self._ran.append(now - known.running_since)


def _merged(known: Facts, change: Facts) -> Facts:
    said = {entry.name: getattr(change, entry.name) for entry in fields(change)}
    return replace(known, **{name: value for name, value in said.items() if value is not None})
