"""The launcher of docs/python-launchers.md: a whole one in at most 40 lines, run as it is written."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import obo_bench
from tests.launcher_case import document, lines, wrapping

ROOT = Path(obo_bench.__file__).parent.parent
PAGE = (ROOT / "docs" / "python-launchers.md").read_text("utf-8")
SOLVER = """#!/bin/sh
read -r task
case "$task" in
  *slow*) exec sleep 60 ;;
  *hard*) echo "gave up" >&2; exit 3 ;;
esac
printf 'diff --git a/x b/x\\n'
"""


def example() -> str:
    found = re.search(r"<!-- launcher -->\n```python\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    """The command line of the launcher, without what differs."""
    (tmp_path / "predict.py").write_text(example())
    solver = tmp_path / "solver"
    solver.write_text(SOLVER)
    solver.chmod(0o755)
    output = tmp_path / "predictions.jsonl"
    options = ["--input", str(tmp_path / "tasks.jsonl"), "--output", str(output), "--solver", str(solver)]
    return [sys.executable, str(tmp_path / "predict.py"), *options]


def tasks(tmp_path: Path, *names: str) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(f'{{"instance_id": "{name}"}}\n' for name in names))


def launch(line: list[str], *options: str | Path, env: dict[str, str] | None = None) -> int:
    whole = [*line, *map(str, options)]
    done = subprocess.run(whole, capture_output=True, timeout=60, check=False, env={**os.environ, **(env or {})})
    return done.returncode


def test_it_has_at_most_forty_lines() -> None:
    assert len(example().splitlines()) <= 40


def test_it_records_a_run_of_its_own(
    tmp_path: Path, line: list[str], checkout: Path, serve: Callable[..., str]
) -> None:
    tasks(tmp_path, "a", "hard", "b")
    server: list[str | Path] = ["--repo-dir", checkout, "--ouroboros-url", serve()]
    assert launch(line, "--run-root", tmp_path / "run", *server) == 1
    assert [found["instance_id"] for found in lines(tmp_path / "predictions.jsonl")] == ["a", "b"]
    assert lines(tmp_path / "predictions.jsonl")[0] == {
        "instance_id": "a",
        "model_name_or_path": "ouroboros",
        "model_patch": "diff --git a/x b/x\n",
    }
    manifest = document(tmp_path / "run" / "run_manifest.json")
    extra = manifest["extra"]
    assert (manifest["benchmark"], manifest["requested_task_ids"]) == ("swe-bench", ["a", "hard", "b"])
    assert (extra["outcome"], extra["exit_code"], extra["completed_count"], extra["failed_count"]) == (
        "instances_failed",
        1,
        2,
        1,
    )
    assert extra["runtime_attestation"]["ok"]
    rows = lines(tmp_path / "run" / "result_index.jsonl")
    assert [(row["instance_id"], row["status"], row["reason_code"]) for row in rows] == [
        ("a", "completed", "completed"),
        ("hard", "failed", "CalledProcessError"),
        ("b", "completed", "completed"),
    ]
    assert "returned non-zero exit status 3" in rows[1]["error"]


def test_a_server_that_does_not_run_the_checkout_is_refused_before_the_tasks_are_read(
    tmp_path: Path, line: list[str], checkout: Path, serve: Callable[..., str]
) -> None:
    server: list[str | Path] = ["--repo-dir", checkout, "--ouroboros-url", serve(version="6.99.0")]
    assert launch(line, "--run-root", tmp_path / "run", *server) == 3
    assert document(tmp_path / "run" / "run_manifest.json")["extra"]["refusal"]["reason"] == "runtime_skew"


def test_an_input_that_is_not_there_is_on_record(tmp_path: Path, line: list[str]) -> None:
    assert launch(line, "--run-root", tmp_path / "run") == 70
    extra = document(tmp_path / "run" / "run_manifest.json")["extra"]
    assert (extra["outcome"], extra["error"]["type"]) == ("crashed", "FileNotFoundError")


def test_a_signal_in_the_middle_is_on_record_with_what_was_done(tmp_path: Path, line: list[str]) -> None:
    tasks(tmp_path, "a", "slow", "b")
    with subprocess.Popen([*line, "--run-root", str(tmp_path / "run")], start_new_session=True) as process:
        give_up = time.monotonic() + 30
        while not (tmp_path / "run" / "result_index.jsonl").exists() and time.monotonic() < give_up:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGTERM)
    extra = document(tmp_path / "run" / "run_manifest.json")["extra"]
    assert (process.returncode, extra["exit_code"], extra["outcome"]) == (143, 143, "interrupted")
    assert (extra["completed_count"], extra["not_attempted_count"]) == (1, 2)


def test_it_reports_to_the_run_around_it(tmp_path: Path, line: list[str]) -> None:
    tasks(tmp_path, "a", "slow")
    with wrapping(tmp_path / "run", benchmark="swe-bench") as world:
        assert launch(line, "--timeout", "0.5", env=world.variables) == 1
    outcome = document(tmp_path / "run" / "child" / "outcome.json")
    assert (outcome["outcome"], outcome["completed_count"], outcome["failed_count"]) == ("instances_failed", 1, 1)
    rows = lines(tmp_path / "run" / "child" / "ledger.jsonl")
    assert [(row["instance_id"], row["reason_code"]) for row in rows] == [
        ("a", "completed"),
        ("slow", "TimeoutExpired"),
    ]
