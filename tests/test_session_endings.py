"""What could part `$?` from the manifest: signals at any moment, records that cannot be written, foreign exceptions."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from obo_bench.core import ending as endings
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.lock import OWNER_NAME
from obo_bench.core.redact import MASK, Redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.session import benchmark_session
from obo_bench.core.signals import ENDING_SIGNALS, Interrupted
from tests.test_session import PROGRAM, ending, manifest, start


@pytest.mark.parametrize(
    ("how", "status", "outcome"),
    [
        ("session.conclude('instances_failed', 1); sys.exit(0)", 1, "instances_failed"),
        ("sys.exit(256)", 1, "child_failed"),
        ("sys.exit(-1)", 255, "child_failed"),
        ("sys.exit(False)", 0, "completed"),
        ("sys.exit(0.0)", 1, "child_failed"),
        ("sys.exit(70)", 70, "crashed"),
        ("session.conclude('completed', 256)", 70, "crashed"),
        ("raise GeneratorExit", 70, "crashed"),
        ("raise StopIteration", 70, "crashed"),
        ("raise typer.Exit(0)", 70, "crashed"),
        ("raise typer.Abort", 70, "crashed"),
        ("raise EOFError", 70, "crashed"),
        ("raise BrokenPipeError(32, 'broken')", 70, "crashed"),
        ("raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})", 70, "crashed"),
        ("raise ValueError('x' * 10**8)", 70, "crashed"),
        (
            "raise PreflightRefused('empty_selection', 'x', evidence={1: object(), 'b': b'\\xff'})",
            5,
            "refused",
        ),
        ("session.manifest.harness['mine'] = b'\\xff'", 0, "completed"),
        ("session.manifest.harness['mine'] = session.manifest.harness", 70, "crashed"),
        ("os.chdir('/')", 0, "completed"),
        ("os.close(1); os.close(2)", 0, "completed"),
        ("import threading; threading.Thread(target=time.sleep, args=(60,)).start()", 0, "completed"),
        ("import threading; threading.Thread(target=time.sleep, args=(60,)).start(); sys.exit(7)", 7, "child_failed"),
    ],
)
def test_odd_ways_out(tmp_path: Path, checkout: Path, how: str, status: int, outcome: str) -> None:
    assert ending(tmp_path / "run", checkout, how) == (status, outcome)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("1 / 0", "crashed: this is a bug in obo-bench"),
        ("sys.exit(70)", "crashed: this is a bug in obo-bench"),
        ("session.conclude('child_failed', 70)", ""),
    ],
)
def test_a_bug_is_told_of_a_crash_and_not_of_its_number(tmp_path: Path, checkout: Path, how: str, told: str) -> None:
    process = start(tmp_path / "run", checkout, how)
    stderr = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 70
    assert stderr.partition("\n")[0] == told


def test_a_signal_that_the_body_swallowed_still_decides(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    how = "try:\n  os.kill(os.getpid(), 15); time.sleep(9)\nexcept BaseException: pass"
    assert ending(root, checkout, how) == (143, "interrupted")
    how = "try:\n  os.kill(os.getpid(), 1); time.sleep(9)\nfinally: 1 / 0"
    assert ending(tmp_path / "other", checkout, how) == (129, "interrupted")
    assert "ZeroDivisionError" in manifest(tmp_path / "other")["extra"]["error"]["message"]


def test_a_hangup_that_nohup_ignores_ends_nothing(tmp_path: Path, checkout: Path) -> None:
    program = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{PROGRAM}"
    how = "os.kill(os.getpid(), 1); session.conclude('instances_failed', 1)"
    argv = [sys.executable, "-c", program, how, str(tmp_path / "run"), str(checkout)]
    assert subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 1
    assert manifest(tmp_path / "run")["extra"]["outcome"] == "instances_failed"


def storm(root: Path, checkout: Path, seed: int) -> int:
    """Send signals in quick succession all the way, from a random moment on."""
    chance = random.Random(seed)
    process = start(root, checkout, "[session.checkpoint() for _ in range(20)]")
    until = time.monotonic() + chance.uniform(0.3, 0.9)
    while not (root / OWNER_NAME).exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 0.1))
    while process.poll() is None:
        process.send_signal(chance.choice(ENDING_SIGNALS))
        time.sleep(chance.choice((0, 0.0001, 0.001)))
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.parametrize("seed", range(8))
def test_a_storm_of_signals_never_parts_status_and_record(tmp_path: Path, checkout: Path, seed: int) -> None:
    root = tmp_path / "run"
    status = storm(root, checkout, seed)
    if (root / "run_manifest.json").exists():
        extra = manifest(root)["extra"]
        assert (extra["exit_code"], extra["outcome"]) == (status, "interrupted" if status else "completed")
        assert not (root / OWNER_NAME).exists()
    else:
        assert status in {-signum for signum in ENDING_SIGNALS} | {128 + signum for signum in ENDING_SIGNALS}


class SignalAtCall:
    """Sends a signal at the n-th call of a Python function after it was set."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._left -= 1
            if self._left < 0:
                sys.setprofile(None)
                os.kill(os.getpid(), signal.SIGTERM)


def ended_by(session_request: AdmissionRequest, number: int, place: str) -> int:
    """Return the status of an invocation that gets a signal at a call of its start or end, there also as the second."""
    if place == "start":
        sys.setprofile(SignalAtCall(number))
    try:
        with benchmark_session(session_request):
            try:
                if place == "end, second":
                    os.kill(os.getpid(), signal.SIGINT)
            finally:
                if place != "start":
                    sys.setprofile(SignalAtCall(number))
    except Interrupted as interrupted:
        return interrupted.exit_code
    finally:
        sys.setprofile(None)
    return 0


@pytest.mark.parametrize("place", ["start", "end", "end, second"])
def test_a_signal_at_any_call_tears_nothing(tmp_path: Path, checkout: Path, place: str) -> None:
    previous = signal.signal(signal.SIGTERM, lambda _signum, _frame: None)
    try:
        for number in (*range(12), *range(12, 1200, 99)):
            root = tmp_path / str(number)
            status = ended_by(request(root, checkout), number, place)
            extra = manifest(root)["extra"]
            assert (extra["exit_code"], extra["outcome"]) == (status, "interrupted" if status else "completed"), number
            assert status in ({130, 143} if place == "end, second" else {0, 143})
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_the_next_invocation_on_the_run_root_does_not_decide_this_ones_status(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    usurp = (
        "import pathlib, obo_bench.core.lock as lock\n"
        "real = lock.RunLock.release\n"
        "def release(self, real=real, pathlib=pathlib):\n"
        "  real(self)\n"
        '  pathlib.Path(sys.argv[2], \'run_manifest.json\').write_text(\'{"extra": {"outcome": "started"}}\')\n'
        "lock.RunLock.release = release\n"
        "session.conclude('instances_failed', 1)"
    )
    process = start(root, checkout, usurp)
    process.communicate(timeout=60)
    assert process.returncode == 1


@pytest.mark.parametrize(("deed", "status"), [("pass", 5), ("1 / 0", 5), ("os.kill(os.getpid(), 15)", 143)])
def test_an_ending_that_cannot_be_written_is_no_success(tmp_path: Path, checkout: Path, deed: str, status: int) -> None:
    how = f"import shutil; shutil.rmtree(sys.argv[2]); {deed}"
    process = start(tmp_path / "run", checkout, how)
    _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert (b"run_root_unwritable" in told) == (status == 5)


def test_evidence_that_cannot_be_written_does_not_hide_the_refusal(tmp_path: Path, checkout: Path) -> None:
    how = "odd = {}; odd['odd'] = odd; raise PreflightRefused('empty_selection', 'x', evidence=odd)"
    assert ending(tmp_path / "run", checkout, how) == (5, "refused")
    assert manifest(tmp_path / "run")["extra"]["refusal"]["reason"] == "empty_selection"


def request(root: Path, checkout: Path) -> AdmissionRequest:
    return AdmissionRequest("b", "c", root, checkout)


def test_a_second_invocation_without_a_record_does_not_borrow_the_first_ones(tmp_path: Path, checkout: Path) -> None:
    with benchmark_session(request(tmp_path / "run", checkout)):
        pass
    assert endings.concluded() is not None
    (tmp_path / "file").write_text("")
    with pytest.raises(PreflightRefused), benchmark_session(request(tmp_path / "file", checkout)):
        pass
    assert endings.concluded() is None


def test_a_late_worker_does_not_take_the_ending_back(tmp_path: Path, checkout: Path) -> None:
    with benchmark_session(request(tmp_path / "run", checkout)) as session:
        pass
    session.conclude("crashed", 70)
    session.manifest.extra.outcome = "started"
    session.checkpoint()
    assert manifest(tmp_path / "run")["extra"]["outcome"] == "completed"


def test_workers_that_write_until_the_end_do_not_outrun_it(tmp_path: Path, checkout: Path) -> None:
    with benchmark_session(request(tmp_path / "run", checkout)) as session:

        def work() -> None:
            for _ in range(30):
                session.checkpoint()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    assert manifest(tmp_path / "run")["extra"]["outcome"] == "completed"


def test_a_session_gives_handlers_and_lock_back(tmp_path: Path, checkout: Path) -> None:
    before = [signal.getsignal(signum) for signum in ENDING_SIGNALS]

    def interrupted() -> None:
        with benchmark_session(request(tmp_path / "run", checkout)):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(9)

    def unwritable() -> None:
        with benchmark_session(request(checkout / "inside", checkout)):
            pass

    for deed, error in ((interrupted, Interrupted), (unwritable, PreflightRefused)):
        with pytest.raises(error):
            deed()
        assert [signal.getsignal(signum) for signum in ENDING_SIGNALS] == before
    with benchmark_session(request(tmp_path / "run", checkout)) as session:
        assert session.left_behind is None


def test_redaction_of_a_long_word_is_quick() -> None:
    started = time.monotonic()
    assert len(Redactor().text("x" * 200_000 + " API_TOKEN=abc")) == 200_000 + len(f" API_TOKEN={MASK}")
    assert time.monotonic() - started < 10


def test_another_process_keeps_its_owner_record(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    process = start(root, checkout, "print('here', flush=True); time.sleep(60)")
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(PreflightRefused, match=str(process.pid)), benchmark_session(request(root, checkout)):
        pass
    owner: dict[str, Any] = json.loads((root / OWNER_NAME).read_text())
    assert owner["pid"] == process.pid
    process.kill()
    process.communicate()
