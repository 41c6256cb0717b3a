"""`obo-bench practice`: the whole main job for real, on practice programs and a stand-in for the server.

Everything lives below one directory; `programbench run` is a child process, whose status is handed on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import obo_bench
from obo_bench.core.files import read_json_object
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import new_run_id
from obo_bench.core.variables import PRACTICE, without_option_variables
from obo_bench.engine.cleanroom import remove_all_of_run
from obo_bench.engine.daemon import connect_engine
from obo_bench.practice.directory import make_practice_directory
from obo_bench.practice.engine_setup import ensure_engine
from obo_bench.practice.exclusive import ExclusiveData
from obo_bench.practice.images import ensure_images
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.second_terminal import run_arguments
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.standin import StandIn, StandInConfig
from obo_bench.practice.tasks import PRACTICE_TASKS
from obo_bench.programbench.admission.order import ORDER_NAME


@dataclass(frozen=True)
class PracticeOptions:
    """What the operator asked `practice` for."""

    directory: Path
    """Where everything goes."""
    scenario: str = "solved"
    """How the scripted solver behaves."""
    setup: bool = False
    """Whether Docker may be installed and started."""
    run_id: str | None = None
    """Name of the run, to resume it."""
    workers: int = 2
    """Instances at work at a time."""
    forwarded: tuple[str, ...] = ()
    """Further options of `programbench run`."""


def practise(options: PracticeOptions, reporter: Reporter) -> int:
    """Run the practice and return the exit status of `programbench run`.

    Raises PracticeSetupError when something is missing, or when the directory has a stand-in server at work.
    """
    directory = make_practice_directory(options.directory)
    with ExclusiveData(directory / "data") as data:
        return _practise(options, directory, data, reporter)


def _practise(options: PracticeOptions, directory: Path, data: ExclusiveData, reporter: Reporter) -> int:
    ensure_engine(options.setup, reporter)
    ensure_images(PRACTICE_TASKS, reporter)
    checkout = make_seed_checkout(directory / "ouroboros")
    environment = practice_environment(directory)
    gateway = StandIn(
        StandInConfig(
            repo_dir=checkout, data_dir=directory / "data", workers=options.workers, scenario=options.scenario
        )
    )
    url = gateway.start()
    data.served_at(url)
    reporter.event(f"the stand-in server answers at {url}; its solver is scripted, so the scores mean nothing")
    run_id = options.run_id or new_run_id()
    try:
        command = command_of_run(options, directory, checkout, url, run_id)
        return _run(command, {**environment, PRACTICE: str(directory)})
    finally:
        gateway.stop()
        _sweep(directory / "bench_runs" / "programbench" / run_id)


def practice_environment(directory: Path) -> dict[str, str]:
    """Return an environment in which the unchanged official package knows the practice tasks."""
    overlay = write_overlay(directory / "tasks", PRACTICE_TASKS)
    package = str(Path(obo_bench.__file__).resolve().parent.parent)
    path = [part for part in (overlay["PYTHONPATH"], package, os.environ.get("PYTHONPATH", "")) if part]
    return {**without_option_variables(os.environ), **overlay, "PYTHONPATH": os.pathsep.join(path)}


def _sweep(run_root: Path) -> None:
    """Remove the cleanrooms of an interrupted practice: its tasks ended with the stand-in server."""
    nonce = (read_json_object(run_root / ORDER_NAME) or {}).get("run_nonce")
    if nonce:
        remove_all_of_run(connect_engine(), str(nonce))


def command_of_run(options: PracticeOptions, directory: Path, checkout: Path, url: str, run_id: str) -> list[str]:
    """Return the command that is started."""
    own = ["--workers", str(options.workers), "--run-id", run_id]
    flags = [*run_arguments(directory, checkout, url), *own]
    return [sys.executable, "-P", "-m", "obo_bench", "programbench", "run", *flags, "--eval", *options.forwarded]


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    with subprocess.Popen(argv, env=dict(environment)) as child, _signals_to(child):
        status = child.wait()
    return 128 - status if status < 0 else status


@contextmanager
def _signals_to(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Pass signals on and live until the child has ended, so that its own record is complete.

    A terminal's Ctrl-C reaches the child by itself.
    """

    def forward(signum: int, _frame: object) -> None:
        child.send_signal(signum)

    previous = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, forward),
        signal.SIGHUP: signal.signal(signal.SIGHUP, forward),
    }
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
