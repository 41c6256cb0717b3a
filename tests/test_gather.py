"""Programs asked at once: all that they say is heard in order, and none is left behind."""

import os
import sys
import time
from pathlib import Path

import pytest

from obo_bench.core.gather import gather
from tests.exec_world import alive


def test_everybody_is_heard_in_order_and_at_once(tmp_path: Path) -> None:
    """The first and the last wait for each other: asked one after another they would reach the deadline."""
    long = "import sys; sys.stdout.write('x' * 10**6); sys.stderr.write(' trouble \\n'); sys.exit(3)"
    meeting = tmp_path / "meeting"
    os.mkfifo(meeting)
    first, last = ["sh", "-c", f": < {meeting}"], ["sh", "-c", f": > {meeting}"]
    answers = gather([first, [sys.executable, "-c", long], last], os.environ, 30)
    assert [(each.status, len(each.output), each.complaint) for each in answers] == [
        (0, 0, ""),
        (3, 10**6, "trouble"),
        (0, 0, ""),
    ]


def test_what_a_program_started_does_not_outlive_the_deadline(tmp_path: Path) -> None:
    """The child of the child holds the pipe open, and waits for somebody who will never come."""
    never, pid = tmp_path / "never", tmp_path / "pid"
    os.mkfifo(never)
    script = f"(trap '' TERM; sh -c 'echo $PPID' > {pid}; : < {never}) & exit 0"
    with pytest.raises(TimeoutError):
        gather([["sh", "-c", script]], os.environ, 1)
    # On a very busy machine it was ended before it could say who it is.
    who = pid.read_text() if pid.exists() else ""
    give_up = time.monotonic() + 30
    while who and alive(int(who)):
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_nobody_is_left_behind_when_another_cannot_be_started(tmp_path: Path) -> None:
    lived_on = tmp_path / "lived_on"
    with pytest.raises(FileNotFoundError):
        gather([["sh", "-c", f"sleep 1; touch {lived_on}"], ["/no/such/program"]], os.environ, 30)
    time.sleep(1.5)
    assert not lived_on.exists()


def test_an_endless_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obo_bench.core.gather._LONGEST", 1 << 20)
    with pytest.raises(OSError, match="longer than"):
        gather([["yes"]], os.environ, 30)
