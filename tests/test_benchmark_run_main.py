"""`run_main`: what a launcher's process ends with, with and without a run on record, and what it says."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import obo
from tests.launcher_case import LAUNCHER, document, finish, start

MAIN = """
import os, signal, sys, threading, time
from obo_bench import Refusal, SeedShapeRefused, UsageError, benchmark_run, run_main

ROOT = sys.argv[2]

def run(name, how):
    with benchmark_run("gaia", run_root=f"{ROOT}/{name}") as run:
        exec(how)

def main():
    exec(compile(sys.argv[1], "how", "exec"), {**globals(), **locals()})
    return results[-1] if results else None

results = []
run_main(main)
"""


def main(root: Path, how: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-c", MAIN, how, str(root)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


FAILED = "run('first', 'run.conclude(\"instances_failed\")')"
SAID = "instances_failed: 0 completed; record in "


@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("pass", 0, ""),
        ("results.append(3)", 3, ""),
        ("results.append(256)", 1, ""),
        ("results.append('words')", 1, "words\n"),
        ("sys.exit(9)", 9, ""),
        ("raise UsageError('--input is missing')", 2, "usage error: --input is missing\n"),
        ("raise SeedShapeRefused('seed_shallow', 'it is cut')", 4, "refused (seed_shape: seed_shallow): it is cut\n"),
        ("os.kill(os.getpid(), 15); time.sleep(9)", 143, "ended by SIGTERM\n"),
        ("os.kill(os.getpid(), 1); time.sleep(9)", 129, "ended by SIGHUP\n"),
        ("raise KeyboardInterrupt", 130, "ended by SIGINT\n"),
        ("1 / 0", 70, "ZeroDivisionError: division by zero\n"),
        ("run('first', 'pass')", 0, ""),
        ("run('first', 'sys.exit(9)')", 9, "child_failed: 0 completed; record in "),
        (FAILED, 1, SAID),
        (f"{FAILED}; run('second', 'pass')", 1, SAID),
        (f"run('second', 'pass'); {FAILED}", 1, SAID),
        (f"{FAILED}; sys.exit(1)", 1, SAID),
        (f"{FAILED}; sys.exit(0)", 1, SAID),
        (f"{FAILED}; sys.exit(5)", 1, "the launcher ends with 5, but its run is on record with 1: that is the status"),
        (f"{FAILED}; os.kill(os.getpid(), 15); time.sleep(9)", 1, "ended by SIGTERM"),
        ("run('first', 'pass'); 1 / 0", 0, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_the_status_is_the_one_on_record_else_the_launchers_own(
    tmp_path: Path, how: str, status: int, told: str
) -> None:
    done = main(tmp_path, how)
    assert done.returncode == status, done.stderr
    assert told in done.stderr
    assert bool(done.stderr) is bool(told)


def test_each_run_that_failed_says_why_and_where_its_record_is(tmp_path: Path) -> None:
    rows = 'run.record("a"); run.record("b", "failed")'
    how = (
        f"run('first', '{rows}'); run('second', 'pass'); run('third', 'run.conclude(\"stopped_budget\", \"no money\")')"
    )
    done = main(tmp_path, how)
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        [
            f"instances_failed: 1 completed, 1 failed; record in {tmp_path / 'first'}",
            f"stopped_budget: no money; 0 completed; record in {tmp_path / 'third'}",
        ],
    )
    extra = document(tmp_path / "third" / "run_manifest.json")["extra"]
    assert extra["error"] == {"type": "stopped_budget", "message": "no money"}
    assert document(tmp_path / "first" / "run_manifest.json")["extra"]["error"] is None
    assert "no money" in obo("programbench", "status", tmp_path / "third").stdout


def test_a_message_for_a_success_that_was_none_is_not_why_it_failed(tmp_path: Path) -> None:
    main(tmp_path, 'run(\'first\', \'run.record("a", "failed"); run.conclude("completed", "all done")\')')
    extra = document(tmp_path / "first" / "run_manifest.json")["extra"]
    assert (extra["outcome"], extra["error"]) == ("instances_failed", None)


def test_a_refusal_says_what_to_do(tmp_path: Path) -> None:
    done = main(tmp_path, "raise SeedShapeRefused('seed_shallow', 'it is cut')")
    assert "what to do: fetch the whole history" in done.stderr


def test_what_it_says_shows_no_secret_and_drives_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-value")
    done = main(tmp_path, "raise ValueError('\\x1b[2Jkey sk-very-secret-value')")
    assert "sk-very-secret-value" not in done.stderr
    assert "\x1b" not in done.stderr
    assert "ValueError:  [2Jkey [redacted]" in done.stderr


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_streams_that_cannot_be_written_to_do_not_change_the_status(
    tmp_path: Path, redirection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = f"{FAILED}; print('words'); raise ValueError"
    line = f'exec "$@" {redirection}'
    argv = ["sh", "-c", line, "sh", sys.executable, "-c", MAIN, how, str(tmp_path)]
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    assert subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 1


def test_no_file_of_the_run_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    how = "run('first', 'os.write(1, b\"words\"); os.write(2, b\"words\")')"
    argv = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", MAIN, how, str(tmp_path)]
    assert subprocess.run(argv, timeout=60, check=False).returncode == 0
    written = [path for path in (tmp_path / "first").rglob("*") if path.is_file() and b"words" in path.read_bytes()]
    assert [path.name for path in written if path.name != "run_manifest.json"] == []


def test_a_signal_while_it_says_why_it_ends_changes_nothing(tmp_path: Path) -> None:
    how = (
        "run('first', 'run.conclude(\"stopped_budget\")')\n"
        "at = lambda frame, event, _: frame.f_code.co_name == '_tell' and os.kill(os.getpid(), 15)\n"
        "sys.setprofile(at)"
    )
    done = main(tmp_path, how)
    assert (done.returncode, done.stderr) == (8, f"stopped_budget: 0 completed; record in {tmp_path / 'first'}\n")


def test_a_storm_of_signals_after_the_run_changes_nothing(tmp_path: Path) -> None:
    program = LAUNCHER.replace('print("went on")', 'print("went on", flush=True); time.sleep(60)')
    process = start("run.conclude('stopped_budget')", {"run_root": str(tmp_path / "run")}, program=program)
    assert process.stdout is not None
    process.stdout.readline()
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.0005)
    assert finish(process, tmp_path / "run").status == 8


def test_it_runs_in_another_thread_than_the_main_one(tmp_path: Path) -> None:
    how = (
        "caught = []\ndef call():\n  try: run_main(lambda: 4)\n"
        "  except SystemExit as ended: caught.append(ended.code)\n"
        "thread = threading.Thread(target=call); thread.start(); thread.join()\nsys.exit(caught[0] + 1)"
    )
    assert main(tmp_path, how).returncode == 5
