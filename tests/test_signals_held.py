"""A signal that comes while a step may not be torn ends the run when that step is over, not when the run would end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.core.signals import Interrupted, SignalGuard, untorn
from tests.launcher_case import document, lines, wrapping

LONG_SEC = 60

LAUNCHER = dedent(
    """
    import os, signal, sys, time
    from obo_bench import benchmark_run, run_main

    def main():
        with benchmark_run("swe-bench", run_root=sys.argv[1], requested_task_ids=["a", "b"]) as run:
            real = os.fsync
            def fsync(descriptor):
                # While the row is being written, once.
                os.fsync = real
                os.kill(os.getpid(), signal.SIGTERM)
                real(descriptor)
            os.fsync = fsync
            run.record("a")
            time.sleep(60)
            run.record("b")

    run_main(main)
    """
)


@pytest.fixture
def guard() -> Iterator[SignalGuard]:
    found = SignalGuard()
    found.install()
    try:
        yield found
    finally:
        found.uninstall()


@untorn
def interrupted_within(log: list[str]) -> str:
    os.kill(os.getpid(), signal.SIGTERM)
    log.append("done")
    return "returned"


def test_it_is_raised_when_the_step_is_over(guard: SignalGuard) -> None:
    guard.deliver()
    log: list[str] = []
    with pytest.raises(Interrupted) as caught:
        interrupted_within(log)
    assert (caught.value.exit_code, log) == (143, ["done"])


def test_the_outermost_step_decides_when_that_is(guard: SignalGuard) -> None:
    log: list[str] = []

    @untorn
    def outer() -> None:
        interrupted_within(log)
        log.append("outer too")

    guard.deliver()
    with pytest.raises(Interrupted):
        outer()
    assert log == ["done", "outer too"]


def test_a_step_that_fails_meanwhile_is_not_lost(guard: SignalGuard) -> None:
    @untorn
    def failing() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise OSError("disk full")

    guard.deliver()
    with pytest.raises(Interrupted) as caught:
        failing()
    assert isinstance(caught.value.__context__, OSError)


def test_while_signals_are_held_back_anyway_it_waits_for_their_delivery(guard: SignalGuard) -> None:
    assert interrupted_within([]) == "returned"
    with pytest.raises(Interrupted):
        guard.deliver()


def test_it_is_the_business_of_the_guard_that_held_it() -> None:
    came: list[int] = []
    previous = signal.signal(signal.SIGTERM, lambda number, _frame: came.append(number))
    try:
        guard = SignalGuard()

        @untorn
        def ending() -> None:
            guard.install()
            guard.deliver()
            os.kill(os.getpid(), signal.SIGTERM)
            guard.uninstall()

        ending()
        assert (guard.arrived, came) == (signal.SIGTERM, [])
        # Nor does the next step find it.
        untorn(lambda: None)()
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_a_step_of_another_thread_leaves_it_to_the_main_one(guard: SignalGuard) -> None:
    ended: list[BaseException | None] = []

    def work() -> None:
        try:
            untorn(lambda: None)()
            ended.append(None)
        except Interrupted as error:
            ended.append(error)

    @untorn
    def outer() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        other = threading.Thread(target=work)
        other.start()
        other.join()

    guard.deliver()
    with pytest.raises(Interrupted):
        outer()
    assert ended == [None]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_process_without_a_session_ends_after_the_step_too(recorded: bool) -> None:
    program = dedent(
        f"""
        import os, signal
        from obo_bench.core.signals import Interrupted, end_process_unless, untorn

        @untorn
        def step():
            os.kill(os.getpid(), signal.SIGTERM)
            print("done", flush=True)

        end_process_unless(lambda: {recorded})
        try:
            step()
        except Interrupted as error:
            raise SystemExit(error.exit_code)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0 if recorded else 143, "done\n", "")


def test_a_row_is_whole_and_the_signal_is_raised_after_it(
    tmp_path: Path, guard: SignalGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard.deliver()
    ledger = Ledger(tmp_path, "now", Redactor(()))
    real = os.fsync

    def fsync(descriptor: int) -> None:
        monkeypatch.undo()
        os.kill(os.getpid(), signal.SIGHUP)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Interrupted):
        ledger.append(Row(benchmark="swe-bench", instance_id="a", status="completed", reason_code="completed"))
    assert [row["instance_id"] for row in lines(ledger.path)] == ["a"]


def test_a_launcher_ends_after_the_row_that_it_was_writing(tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(tmp_path / "run")], capture_output=True, timeout=90, check=False
    )
    extra = document(tmp_path / "run" / "run_manifest.json")["extra"]
    assert (done.returncode, extra["exit_code"], extra["outcome"]) == (143, 143, "interrupted")
    assert (extra["completed_count"], extra["not_attempted_count"]) == (1, 1)
    assert time.monotonic() - began < LONG_SEC


def test_so_does_one_under_exec(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run", benchmark="swe-bench") as world:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", LAUNCHER, str(tmp_path / "unused")],
            capture_output=True,
            timeout=90,
            check=False,
            env={**os.environ, **world.variables},
        )
    outcome = document(tmp_path / "run" / "child" / "outcome.json")
    assert (done.returncode, outcome["outcome"], outcome["completed_count"]) == (143, "child_failed", 1)
    assert time.monotonic() - began < LONG_SEC
