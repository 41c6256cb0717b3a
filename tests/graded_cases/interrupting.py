"""Ends real evaluators in the middle of a build, as an operator or the system may."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.graded_cases.evaluating import LABELS

HANGING_BUILD = b"sleep 321\n"
"""A build that does not end before it is interrupted."""
SLOW_BUILD = b"sleep 3\n"
"""One that lets the evaluator be killed, and comes to its end the next time."""
_DEADLINE_SEC = 120.0


@contextlib.contextmanager
def interrupting(signals: Mapping[str, tuple[signal.Signals, bool]]) -> Iterator[None]:
    """While the block runs, send each instance's evaluator its signal, a SIGINT to its group.

    It is sent once the build is at work or, where the flag is False, once there is a container at all: a build that
    comes to its end might not be met.
    """
    threads = [threading.Thread(target=_interrupt, args=(iid, *how), daemon=True) for iid, how in signals.items()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(_DEADLINE_SEC)


def _interrupt(instance_id: str, number: signal.Signals, in_build: bool) -> None:
    deadline = time.monotonic() + _DEADLINE_SEC
    while not _is_at_work(instance_id, in_build=in_build):
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)
    for pid in _evaluators(instance_id):
        os.killpg(pid, number) if number == signal.SIGINT else os.kill(pid, number)


def _is_at_work(instance_id: str, *, in_build: bool) -> bool:
    run = f"label=obo-bench.run={LABELS['obo-bench.run']}"
    mine = ["--filter", run, "--filter", f"label=obo-bench.instance={instance_id}"]
    container = _said("ps", "-q", *mine).strip()
    return bool(container) and (not in_build or "compile.sh" in _said("top", container))


def _said(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=30, check=False).stdout


def _evaluators(instance_id: str) -> Iterator[int]:
    """Yield the processes that evaluate an instance for us; each leads a group of its own."""
    program = instance_id.partition("__")[0]
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").replace("\\", "")
            parent = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            if parent == str(os.getpid()) and "official_child.py" in words and f"{program}__" in words:
                yield int(entry.name)
