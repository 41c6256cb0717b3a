"""All checks, in the order in which they are told."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from obo_bench import __version__
from obo_bench.programbench.doctor import (
    clock,
    engine_checks,
    evaluator_checks,
    host_checks,
    place_checks,
    server_checks,
    settings_checks,
)
from obo_bench.programbench.doctor.report import DoctorReport, report_of
from obo_bench.programbench.doctor.runner import run_checks
from obo_bench.programbench.doctor.verdict import Verdict
from obo_bench.programbench.doctor.world import PATIENCE_SEC, DoctorOptions, World

CHECKS: Mapping[str, Callable[[World], Verdict]] = {
    "python": lambda _: host_checks.python(),
    "locale": host_checks.locale,
    "terminal": host_checks.terminal,
    "proxies": host_checks.proxies,
    "engine": engine_checks.engine,
    "engine-architecture": engine_checks.architecture,
    "engine-api": engine_checks.api,
    "engine-rootless": engine_checks.rootless,
    "engine-disk": engine_checks.disk,
    "engine-limits": engine_checks.limits,
    "evaluator": evaluator_checks.evaluator,
    "docker-command": evaluator_checks.docker_command,
    "evaluator-variables": evaluator_checks.variables,
    "checkout": place_checks.checkout,
    "server": server_checks.server,
    "server-version": server_checks.version,
    "server-ready": server_checks.ready,
    "server-limits": server_checks.limits,
    "server-budget": server_checks.budget,
    "server-port": server_checks.port,
    "server-clock": clock.clock,
    "settings-file": settings_checks.file,
    "model-slots": settings_checks.slots,
    "settings-live": settings_checks.live,
    "server-profile": settings_checks.profile,
    "openrouter-key": settings_checks.key,
    "runs-root": place_checks.runs_root,
    "run-locks": place_checks.locks,
}
"""Every check by its id; the ids are part of the wire format."""


_WHEN_HANGING = {
    "engine": "restart Docker (or correct DOCKER_HOST): what listens there does not answer",
    "checkout": "look at the file system that the checkout is on: git does not come back from it",
    "runs-root": "look at the file system that the runs root is on",
    "run-locks": "look at the file system that the runs root is on",
}


def examine(options: DoctorOptions, patience_sec: float = PATIENCE_SEC) -> DoctorReport:
    """Look at everything that a run needs; spends nothing, changes nothing, and never raises a refusal."""
    started = time.time()
    world = World(options, patience_sec)
    results = run_checks({name: partial(check, world) for name, check in CHECKS.items()}, patience_sec, _WHEN_HANGING)
    if all(result.seconds < patience_sec for result in results):
        world.close()  # else something hangs, and closing would wait for it
    return report_of(results, checked_at_unix=started, obo_bench=__version__)
