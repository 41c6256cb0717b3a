"""Limits that were asked for, held against what engine and server have; every conflict is one plain notice."""

from collections.abc import Mapping
from typing import Any

from obo_bench.engine.daemon import Engine
from obo_bench.gateway.wire import State
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.sizes import parse_size

REVIEW_NEEDS_SEC = 300.0
"""With less the server has no time left for its acceptance review and skips it."""
LAST_ANSWER_SEC = 120.0
"""The server's OUROBOROS_FINALIZATION_GRACE_SEC: with less left than this it asks for the last answer at once."""
_CEILING = "OUROBOROS_TASK_ABS_CEILING_SEC"


def cleanroom_limits(engine: Engine, options: RunOptions) -> tuple[float, int, list[str]]:
    """Return cores and memory of a cleanroom within what the engine has, and the notices."""
    notices = []
    cpus, memory = options.cpus, parse_size(options.memory)
    if cpus > engine.cpus:
        notices.append(f"--cpus {cpus:g} is lowered to the engine's {engine.cpus}")
        cpus = float(engine.cpus)
    if engine.memory_bytes and memory > engine.memory_bytes:
        notices.append(f"--memory {options.memory} is lowered to the engine's {_mib(engine.memory_bytes)}")
        memory = engine.memory_bytes
    workers = options.workers
    if workers > 1 and workers * cpus > engine.cpus:
        notices.append(
            f"--workers {workers} with {cpus:g} core(s) each want more than the engine's {engine.cpus}: "
            "instances will slow each other down"
        )
    if workers > 1 and engine.memory_bytes and workers * memory > engine.memory_bytes:
        notices.append(
            f"--workers {workers} with {_mib(memory)} each may use more than the engine's "
            f"{_mib(engine.memory_bytes)}: cleanrooms can be killed for want of memory"
        )
    return cpus, memory, notices


def server_limits(options: RunOptions, state: State, live: Mapping[str, Any]) -> list[str]:
    """Return the notices on what the server would not grant; `live` are its settings as recorded."""
    notices = []
    if options.workers > state.workers_total > 0:
        notices.append(
            f"--workers {options.workers} is more than the server's {state.workers_total}: the others wait, "
            "their cleanrooms prepared, until one is idle"
        )
    ceiling = _seconds(live.get(_CEILING))
    if ceiling and options.timeout_sec > ceiling:
        notices.append(
            f"--timeout-sec {options.timeout_sec:g} is more than the server's {_CEILING} of {ceiling:g}: "
            "it ends every task there"
        )
    if options.timeout_sec < LAST_ANSWER_SEC:
        notices.append(
            f"--timeout-sec {options.timeout_sec:g} is below {LAST_ANSWER_SEC:g}: the server asks for the last answer "
            "at once, and next to no work is done"
        )
    elif options.timeout_sec <= REVIEW_NEEDS_SEC:
        notices.append(
            f"--timeout-sec {options.timeout_sec:g} leaves the server no time for its acceptance review (it takes "
            f"some {REVIEW_NEEDS_SEC:g} s): the review is skipped"
        )
    return notices


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"


def _seconds(value: object) -> float | None:
    """The server's settings are not reliably typed."""
    try:
        return float(str(value))
    except ValueError:
        return None
