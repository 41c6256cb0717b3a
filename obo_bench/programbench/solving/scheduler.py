"""Run many instances with a few workers, and stop admitting when going on would be wrong or useless."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from obo_bench.core.refusals import Refusal, RuntimeAttestationRefused
from obo_bench.core.signals import Interrupted, untorn
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving.attempt import INTERRUPTED
from obo_bench.programbench.solving.operator_cancel import AT_MOST_SEC
from obo_bench.programbench.solving.schedule import Schedule, Solve
from obo_bench.programbench.solving.spending import STOPPED_BUDGET

DETACH_SEC = 20.0
"""How long workers get to leave their tasks to the server."""
_LOOK_SEC = 0.05


def run_all(context: RunContext, instances: Sequence[Instance], solve: Solve) -> Schedule:
    """Bring every instance to a row.

    Raises Interrupted, a worker's bug, or a refusal that holds for all instances, once the workers have left their
    tasks to the server (or cancelled them). A second signal leaves at once.
    """
    schedule = Schedule()
    pool = ThreadPoolExecutor(max_workers=context.options.workers, thread_name_prefix="instance")
    try:
        for instance in instances:
            pool.submit(schedule.work, context, instance, solve)
        _wait(context, schedule, len(instances))
    except BaseException as error:
        _halt(context, schedule, error)
        _wait(context, schedule, len(instances))
        raise
    finally:
        _close(context, schedule, pool, [instance.instance_id for instance in instances])
    if schedule.error is not None:
        raise schedule.error
    if context.spending.stopped and not schedule.stopped:
        schedule.stopped, schedule.detail = STOPPED_BUDGET, context.spending.stopped
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


def _wait(context: RunContext, schedule: Schedule, count: int) -> None:
    """Wait until every instance has ended, or, once nothing new is started, all that had begun.

    Plain looks and no locks: the main thread may be torn away by a signal at any point.
    """
    give_up: float | None = None
    while len(schedule.rows) < count and not (context.closed.is_set() and not schedule.at_work):
        if context.stop.is_set():
            give_up = give_up or time.monotonic() + DETACH_SEC + (AT_MOST_SEC if context.cancelling else 0.0)
            if time.monotonic() > give_up:
                return
        time.sleep(_LOOK_SEC)


def _halt(context: RunContext, schedule: Schedule, error: BaseException) -> None:
    context.cancelling = isinstance(error, Interrupted) and context.options.on_interrupt == "cancel"
    context.halt(_reason_of(error))
    if not schedule.at_work:
        return
    what = "running tasks are cancelled" if context.cancelling else "running tasks stay with the server"
    context.reporter.event(f"stopping: nothing new is started, {what}; a second signal leaves at once")


@untorn
def _close(context: RunContext, schedule: Schedule, pool: ThreadPoolExecutor, names: list[str]) -> None:
    """Let nothing begin any more, wait for nobody, and account for every instance."""
    context.halted_by = context.halted_by or schedule.stopped or INTERRUPTED
    context.closed.set()
    pool.shutdown(wait=False, cancel_futures=True)
    schedule.settle_rest(context, names)
    context.stop.set()


def _reason_of(error: BaseException) -> str:
    if isinstance(error, Refusal):
        return error.reason
    return INTERRUPTED if isinstance(error, Interrupted) else "stopped_by_error"
