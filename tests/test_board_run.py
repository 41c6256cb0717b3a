"""Whole runs on a real pseudo-terminal: real Docker, the real evaluator, and somebody who resizes and hangs up."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal_screen import Screen
from tests.test_board_terminal import Terminal

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

IID = "practice__wordtally.0000001"


def run_on_terminal(
    url: str, tmp_path: Path, checkout: Path, env: dict[str, str], *more: str, columns: int = 100
) -> Terminal:
    argv = [sys.executable, "-m", "obo_bench", "programbench", "run", "--repo-dir", str(checkout), "--run-id", "r"]
    argv += ["--ouroboros-url", url, "--runs-root", str(tmp_path / "runs"), "--instance-id", IID, "--memory", "512m"]
    argv += ["--cpus", "1", "--timeout-sec", "600", *more]
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return Terminal(argv, {**kept, **env, "TERM": "xterm"}, columns)


def extra(tmp_path: Path) -> dict[str, object]:
    manifest = json.loads((tmp_path / "runs" / "programbench" / "r" / "run_manifest.json").read_text())
    found: dict[str, object] = manifest["extra"]
    return found


def test_a_graded_run_is_shown_from_beginning_to_end_on_a_terminal_that_is_resized(
    serve: Callable[..., str], tmp_path: Path, checkout: Path, practice_env: dict[str, str]
) -> None:
    url = serve(workers=1, solve_delay_sec=2)
    terminal = run_on_terminal(url, tmp_path, checkout, practice_env, "--eval", "--max-cost-usd", "9", columns=140)
    try:
        board = terminal.read_until("obo-")
        assert "run r" in board
        assert "server 6.75.0" in board
        assert "practice::scripted-solver" in board
        assert "of 9" in board
        terminal.read_until("running")
        terminal.resize(40, 12)
        terminal.read_until("evaluating")
        terminal.resize(200, 60)
        assert terminal.read_rest() == 0
        assert "1 pass" in terminal.written
        assert "next: obo-bench" in terminal.written.rpartition("\x1b[?7h")[2], "the answer comes after the board"
        screen = Screen(200)
        screen.feed(terminal.written)
        assert screen.cursor_shown
        assert screen.wraps
    finally:
        terminal.close()
    [log] = (tmp_path / "runs" / "programbench" / "r" / "logs").iterdir()
    text = log.read_text()
    for phase in ("image audit", "seeding", "cleanroom", "waiting for a worker", "running", "packaging", "evaluation"):
        assert f"phase {phase}" in text
    assert text.endswith("ended: completed (exit status 0)\n")


def test_a_terminal_that_hangs_up_in_the_middle_does_not_cost_the_run(
    serve: Callable[..., str], tmp_path: Path, checkout: Path, practice_env: dict[str, str]
) -> None:
    terminal = run_on_terminal(serve(workers=1, solve_delay_sec=2), tmp_path, checkout, practice_env)
    try:
        terminal.read_until("running")
        os.close(terminal.master)
        assert terminal.process.wait(120) == 0
    finally:
        terminal.close()
    assert (extra(tmp_path)["outcome"], extra(tmp_path)["completed_count"]) == ("completed", 1)
