"""What came of a run's instances, put down by the workers themselves: a signal tears nothing out of their hands."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from obo_bench.core.ending import is_campaign_fatal
from obo_bench.core.ledger import LedgerUnwritable, Row
from obo_bench.core.refusals import Refusal
from obo_bench.engine.trouble import is_disk_full
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.rows import append_row
from obo_bench.programbench.solving.attempt import AttemptAbandoned
from obo_bench.programbench.solving.not_ready import DISK_LOW, ENGINE_UNREACHABLE

SYSTEMIC_AFTER = 3
"""So many endings in a row for the same infrastructure reason mean that it is not the instances."""
STOPPED_SYSTEMIC = "stopped_systemic"
_AT_ONCE = frozenset({ENGINE_UNREACHABLE, DISK_LOW})
"""Reasons that hold for every instance, so the first one is enough."""

Solve = Callable[[RunContext, Instance], Row]


@dataclass
class Schedule:
    """What came of a run's instances; safe to share between threads, and read by the main thread without a lock."""

    rows: dict[str, Row] = field(default_factory=dict)
    """The last row of each instance, in the order of completion."""
    stopped: str = ""
    """stopped_provenance, stopped_systemic or stopped_budget; empty when every instance had its turn."""
    refusal: Refusal | None = None
    """The provenance refusal that stopped the run."""
    detail: str = ""
    """Why it stopped, for the operator."""
    error: BaseException | None = None
    """What no worker can deal with: a bug, or a refusal that is no matter of provenance."""
    begun: set[str] = field(default_factory=set)
    """Instances that a worker has come to."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def at_work(self) -> int:
        """How many instances have begun and not ended."""
        return len(self.begun) - len(self.rows)

    def work(self, context: RunContext, instance: Instance, solve: Solve) -> None:
        """Bring one instance to its row, unless the run is over; what goes wrong is kept, never raised."""
        name = instance.instance_id
        with self._lock:
            if context.closed.is_set():
                return
            self.begun.add(name)
        try:
            row = solve(context, instance)
        except AttemptAbandoned:
            return
        except BaseException as error:  # noqa: BLE001  # put down for the main thread, which raises it
            self._broke(context, name, error)
        else:
            self._ended(context, row)

    def stop_for(self, refusal: Refusal) -> None:
        """Take a provenance refusal as what stopped the run; the first one counts."""
        refusal.settle()
        if self.refusal is None:
            self.stopped, self.refusal, self.detail = "stopped_provenance", refusal, refusal.message

    def settle_rest(self, context: RunContext, names: list[str]) -> None:
        """Give every instance without a row the one that tells how it stands; nothing begins any more after this."""
        with self._lock:
            context.closed.set()
            rest = [name for name in names if name not in self.rows]
        for name in rest:
            row = _left(context, name) if name in self.begun else _never_begun(context, name)
            if row is not None:
                self.rows.setdefault(name, row)

    def _ended(self, context: RunContext, row: Row) -> None:
        with self._lock:
            self.rows[row.instance_id] = row
            why = _everywhere(row) or self._systemic()
        if why:
            self._stop_systemic(context, why)

    def _stop_systemic(self, context: RunContext, why: str) -> None:
        with self._lock:
            if self.stopped:
                return
            self.stopped, self.detail = STOPPED_SYSTEMIC, why
            context.close_admission(STOPPED_SYSTEMIC)
        context.reporter.event(f"nothing new is started: {why}")

    def _systemic(self) -> str:
        last = list(self.rows.values())[-SYSTEMIC_AFTER:]
        same = (
            len(last) == SYSTEMIC_AFTER
            and len({row.reason_code for row in last}) == 1
            and all(row.status in ("failed", "blocked") and row.details.get("infrastructure") for row in last)
        )
        return f"{SYSTEMIC_AFTER} instances in a row ended with {last[0].reason_code!r}" if same else ""

    def _broke(self, context: RunContext, name: str, error: BaseException) -> None:
        if isinstance(error, Refusal):
            self._refused(context, error)
        elif isinstance(error, LedgerUnwritable) or is_disk_full(error):
            self._stop_systemic(context, str(error))
        else:
            self._crashed(context, name, error)
        row = _left(context, name, f"{type(error).__name__}: {error}")
        if row is not None:
            self.rows[name] = row

    def _refused(self, context: RunContext, refusal: Refusal) -> None:
        if is_campaign_fatal(refusal):
            context.halt("stopped_provenance")
            self.stop_for(refusal)
            return
        context.halt(refusal.reason)
        with self._lock:
            if self.error is None:
                self.error = refusal
                return
        refusal.settle()

    def _crashed(self, context: RunContext, name: str, error: BaseException) -> None:
        """Keep a bug as the run's error; it outranks a refusal, and a later one must not hide it."""
        context.halt("stopped_by_error")
        with self._lock:
            if isinstance(self.error, Refusal):
                self.error.settle()
                self.error = None
            if self.error is None:
                self.error = error
                return
        context.reporter.event(f"ended with {type(error).__name__}: {error}", name)


def _everywhere(row: Row) -> str:
    """Return why a row holds for all instances, or nothing."""
    if row.reason_code in _AT_ONCE or row.details.get("engine") in _AT_ONCE or row.details.get("disk_full"):
        return f"{row.reason_code}: {row.error}"
    return ""


def _left(context: RunContext, name: str, why: str = "the run ended without waiting for it") -> Row | None:
    attempt = context.attempts.get(name)
    if attempt is None:
        return _never_begun(context, name)
    try:
        return attempt.leave(why)
    except OSError as error:
        return _unwritten(context, name, error)


def _never_begun(context: RunContext, name: str) -> Row:
    try:
        return append_row(context, name, "not_attempted", context.halted_by, attempt=1)
    except OSError as error:
        return _unwritten(context, name, error)


def _unwritten(context: RunContext, name: str, error: OSError) -> Row:
    """Return the row for the counts only: a resume finds the instance by its files."""
    context.reporter.event(f"its row cannot be written: {error}", name)
    row = Row(benchmark=BENCHMARK, instance_id=name, status="not_attempted", reason_code=context.halted_by)
    context.note(row)
    return row
