"""Run many instances with a few workers, and stop admitting when going on would be wrong or useless."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from obo_bench.core.ending import is_campaign_fatal
from obo_bench.core.ledger import Row
from obo_bench.core.refusals import Refusal, RuntimeAttestationRefused
from obo_bench.core.signals import Interrupted
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.rows import append_row

SYSTEMIC_AFTER = 3
"""So many endings in a row for the same infrastructure reason mean that it is not the instances."""
_DETACH_SEC = 20.0
"""How long workers get to leave their tasks to the server after a signal."""


@dataclass
class Schedule:
    """What came of a run's instances."""

    rows: dict[str, Row] = field(default_factory=dict)
    """The last row of each instance."""
    stopped: str = ""
    """stopped_provenance or stopped_systemic, empty when every instance had its turn."""
    refusal: Refusal | None = None
    """The provenance refusal that stopped the run."""
    detail: str = ""
    """Why it stopped, for the operator."""

    def stop_for(self, refusal: Refusal) -> None:
        """Take a provenance refusal as what stopped the run; the first one counts."""
        refusal.settle()
        if self.refusal is None:
            self.stopped, self.refusal, self.detail = "stopped_provenance", refusal, refusal.message


def run_all(
    context: RunContext, instances: Sequence[Instance], solve: Callable[[RunContext, Instance], Row]
) -> Schedule:
    """Bring every instance to a row.

    Raises Interrupted, or a refusal that holds for all instances, once the workers have left their tasks to the server.
    """
    schedule = Schedule()
    waiting = list(instances)
    running: dict[Future[Row], Instance] = {}
    pool = ThreadPoolExecutor(max_workers=context.options.workers, thread_name_prefix="instance")
    try:
        while waiting or running:
            while (
                waiting and len(running) < context.options.workers and not (schedule.stopped or context.stop.is_set())
            ):
                instance = waiting.pop(0)
                running[pool.submit(solve, context, instance)] = instance
            if not running:
                break
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                _take(context, schedule, running.pop(future), future)
    except BaseException as error:
        context.halt(_reason_of(error))
        context.reporter.event("stopping: nothing new is started, running tasks stay with the server")
        _drain(context, schedule, running)
        _not_attempted(context, schedule, waiting)
        raise
    finally:
        context.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
    context.halted_by = context.halted_by or schedule.stopped
    _not_attempted(context, schedule, waiting)
    return schedule


def confirm_at_end(context: RunContext, schedule: Schedule) -> None:
    """Ask the server a last time who it is, if this invocation gave it a task; another one stops the run."""
    server = context.server
    if server is None or not server.relied_upon or schedule.refusal is not None:
        return
    try:
        server.confirm(threading.Event())
    except RuntimeAttestationRefused as refusal:
        schedule.stop_for(refusal)


def _reason_of(error: BaseException) -> str:
    if isinstance(error, Refusal):
        return error.reason
    return "interrupted" if isinstance(error, Interrupted) else "stopped_by_error"


def _take(context: RunContext, schedule: Schedule, instance: Instance, future: Future[Row]) -> None:
    try:
        row = future.result()
    except Refusal as refusal:
        fatal = is_campaign_fatal(refusal)
        context.halt("stopped_provenance" if fatal else refusal.reason)
        _not_attempted(context, schedule, [instance])
        if not fatal:
            raise
        schedule.stop_for(refusal)
        return
    schedule.rows[row.instance_id] = row
    if not schedule.stopped and _systemic(schedule):
        schedule.stopped = "stopped_systemic"
        schedule.detail = f"{SYSTEMIC_AFTER} instances in a row ended with {row.reason_code!r}"


def _systemic(schedule: Schedule) -> bool:
    last = list(schedule.rows.values())[-SYSTEMIC_AFTER:]
    return (
        len(last) == SYSTEMIC_AFTER
        and len({row.reason_code for row in last}) == 1
        and all(row.status in ("failed", "blocked") and row.details.get("infrastructure") for row in last)
    )


def _drain(context: RunContext, schedule: Schedule, running: dict[Future[Row], Instance]) -> None:
    """Give the workers time to write their rows; a second signal leaves at once."""
    give_up = time.monotonic() + _DETACH_SEC
    while running and time.monotonic() < give_up:
        done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            instance = running.pop(future)
            error = future.exception()
            if error is None:
                schedule.rows[instance.instance_id] = future.result()
            elif isinstance(error, Refusal):
                error.settle()
                _not_attempted(context, schedule, [instance])
            else:
                # The first error is the run's; later ones must not hide it.
                context.reporter.event(f"ended with {type(error).__name__}: {error}", instance.instance_id)


def _not_attempted(context: RunContext, schedule: Schedule, instances: Sequence[Instance]) -> None:
    for instance in instances:
        schedule.rows[instance.instance_id] = append_row(
            context, instance.instance_id, "not_attempted", context.halted_by, attempt=1
        )
