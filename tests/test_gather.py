"""Programs asked at once: all that they say is heard in order, and none is left behind."""

import os
import sys
import time
from pathlib import Path

import pytest

from obo_bench.core.gather import gather


def test_everybody_is_heard_in_order_and_at_once() -> None:
    long = "import sys; sys.stdout.write('x' * 10**6); sys.stderr.write(' trouble \\n'); sys.exit(3)"
    started = time.monotonic()
    answers = gather([["sleep", "1"], [sys.executable, "-c", long], ["sleep", "1"]], os.environ, 30)
    assert time.monotonic() - started < 1.9
    assert [(each.status, len(each.output), each.complaint) for each in answers] == [
        (0, 0, ""),
        (3, 10**6, "trouble"),
        (0, 0, ""),
    ]


def test_what_a_program_started_does_not_outlive_the_deadline(tmp_path: Path) -> None:
    """The child of the child holds the pipe open; it would also tell by a file that it lived on."""
    alive = tmp_path / "alive"
    script = f"(trap '' TERM; sleep 1.5; touch {alive}; sleep 60) & exit 0"
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        gather([["sh", "-c", script]], os.environ, 0.5)
    assert time.monotonic() - started < 1.4
    time.sleep(1.5)
    assert not alive.exists()


def test_nobody_is_left_behind_when_another_cannot_be_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    with pytest.raises(FileNotFoundError):
        gather([["sh", "-c", f"sleep 1; touch {alive}"], ["/no/such/program"]], os.environ, 30)
    time.sleep(1.5)
    assert not alive.exists()


def test_an_endless_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obo_bench.core.gather._LONGEST", 1 << 20)
    with pytest.raises(OSError, match="longer than"):
        gather([["yes"]], os.environ, 30)
