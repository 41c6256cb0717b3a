"""The seam in a process of its own: every way out leaves a typed outcome, and `$?` is the manifest's exit code."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.lock import OWNER_NAME
from obo_bench.core.refusals import ExitCode

PROGRAM = """
import sys, time, os
from pathlib import Path
from obo_bench import __main__ as entry
from obo_bench.cli import app as cli
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.session import benchmark_session
import typer

app = typer.Typer()

@app.command()
def body(how: str) -> None:
    request = AdmissionRequest("b", "c", Path(sys.argv[2]), Path(sys.argv[3]))
    with benchmark_session(request) as session:
        session.gates_passed()
        exec(how, {**globals(), **locals()})

cli.app = app
sys.argv, rest = [sys.argv[0], *sys.argv[1:]], sys.argv
entry_main = entry.main
entry.main = lambda: entry_main([rest[1]])
entry.run()
"""


def start(root: Path, checkout: Path, how: str) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-c", PROGRAM, how, str(root), str(checkout)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def manifest(root: Path) -> dict[str, Any]:
    value = json.loads((root / "run_manifest.json").read_text())
    assert isinstance(value, dict)
    return value


def ending(root: Path, checkout: Path, how: str) -> tuple[int, str]:
    process = start(root, checkout, how)
    process.communicate(timeout=60)
    extra = manifest(root)["extra"]
    assert process.returncode == extra["exit_code"]
    assert extra["finished_at_unix"] is not None
    assert not (root / OWNER_NAME).exists()
    return process.returncode, extra["outcome"]


@pytest.mark.parametrize(
    ("how", "status", "outcome"),
    [
        ("pass", 0, "completed"),
        ("session.conclude('instances_failed', 1)", 1, "instances_failed"),
        ("raise PreflightRefused('unknown_instance', 'no such thing')", 5, "refused"),
        ("raise ZeroDivisionError('a bug')", 70, "crashed"),
        ("sys.exit(7)", 7, "child_failed"),
        ("sys.exit(0)", 0, "completed"),
        ("sys.exit('words')", 1, "child_failed"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("os.kill(os.getpid(), 15); time.sleep(9)", 143, "interrupted"),
        ("os.kill(os.getpid(), 1); time.sleep(9)", 129, "interrupted"),
        ("os.kill(os.getpid(), 2); time.sleep(9)", 130, "interrupted"),
        ("sys.stdout.close()", 0, "completed"),
    ],
)
def test_every_way_out(tmp_path: Path, checkout: Path, how: str, status: int, outcome: str) -> None:
    assert ending(tmp_path / "run", checkout, how) == (status, outcome)


def test_the_manifest_is_on_disk_before_the_body(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    process = start(root, checkout, "print('here', flush=True); time.sleep(60)")
    assert process.stdout is not None
    assert process.stdout.readline() == b"here\n"
    running = manifest(root)
    assert running["extra"]["outcome"] == "started"
    assert running["source"]["head"]
    assert json.loads((root / OWNER_NAME).read_text())["pid"] == process.pid
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert manifest(root)["extra"]["outcome"] == "started"

    assert ending(root, checkout, "pass") == (0, "completed")
    [earlier] = manifest(root)["extra"]["invocations"]
    assert (earlier["outcome"], earlier["died_unrecorded"]) == ("started", True)
    kept = [json.loads(path.read_text()) for path in (root / "manifests").iterdir()]
    assert [document["extra"]["outcome"] for document in kept] == ["started"]


def test_a_second_signal_is_still_recorded_as_one_ending(tmp_path: Path, checkout: Path) -> None:
    how = (
        "import signal\n"
        "try:\n  os.kill(os.getpid(), 2); time.sleep(9)\n"
        "finally:\n  os.kill(os.getpid(), 15); time.sleep(9)"
    )
    assert ending(tmp_path / "run", checkout, how) == (143, "interrupted")


def test_a_refusal_never_overwrites_a_finished_manifest(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    ending(root, checkout, "pass")
    finished = (root / "run_manifest.json").read_bytes()
    (checkout / "dirt").write_text("x")
    process = start(root, checkout, "pass")
    process.communicate(timeout=60)
    assert process.returncode == ExitCode.ADMISSION
    assert (root / "run_manifest.json").read_bytes() == finished
    [refused] = [json.loads(path.read_text()) for path in (root / "manifests").iterdir()]
    assert refused["extra"]["refusal"]["reason"] == "seed_dirty"
    assert refused["extra"]["exit_code"] == 4


def test_an_earlier_refusal_is_set_aside_at_once(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    (checkout / "dirt").write_text("x")
    start(root, checkout, "pass").communicate(timeout=60)
    assert manifest(root)["extra"]["outcome"] == "refused"
    (checkout / "dirt").unlink()
    assert ending(root, checkout, "pass") == (0, "completed")
    assert len(list((root / "manifests").iterdir())) == 1


def test_nothing_survives_in_the_way_of_a_killed_writer(tmp_path: Path, checkout: Path) -> None:
    """Kills at random moments: the manifest is always whole, and the next invocation always starts."""
    root = tmp_path / "run"
    for pause in (0.3, 0.5, 0.6, 0.7, 0.8, 1.0):
        process = start(root, checkout, "[session.checkpoint() for _ in range(10**6)]")
        time.sleep(pause)
        process.kill()
        process.communicate()
        if (root / "run_manifest.json").exists():
            manifest(root)
    assert ending(root, checkout, "pass") == (0, "completed")
