"""Signals from outside at every phase of a run: what is left, what is said, and that each command said works."""

import json
import re
import shlex
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli.going_on import how_to_go_on
from obo_bench.practice.standin.faults import parse_fault
from obo_bench.programbench.leftovers.resuming import resuming
from tests.conftest import obo
from tests.image_registry import serving
from tests.test_run import IID, Bench, assert_solved, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

Serve = Callable[..., str]
OTHER = "practice__runlength.0000002"
CANCEL = ("--on-interrupt", "cancel")


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    yield made
    made.sweep()


def end(bench: Bench, process: "subprocess.Popen[bytes]", signum: int = signal.SIGINT) -> str:
    """Send the signal; returns what was told, once process and manifest agree on how it ended."""
    process.send_signal(signum)
    _, told = process.communicate(timeout=150)
    extra = bench.manifest()["extra"]
    assert (process.returncode, extra["exit_code"], extra["outcome"]) == (128 + signum, 128 + signum, "interrupted")
    return told.decode()


def said(told: str, what: str) -> list[str]:
    """The arguments of the command that was said for a purpose."""
    [line] = re.findall(rf"^  {what}: +obo-bench (.*)$", told, re.MULTILINE)
    return shlex.split(line)


def running(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bench.manifest()["extra"]["still_running"]
    return found


def test_what_is_said_after_a_signal_goes_on_with_the_task_and_nothing_is_said_when_nothing_runs(
    bench: Bench, serve: Serve
) -> None:
    url = serve(solve_delay_sec=4.0)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    told = end(bench, process)
    [task_id] = bench.tasks()
    assert running(bench) == [{"instance_id": IID, "task_id": task_id, "container": bench.checkpoint()["container"]}]
    assert task_id in told
    assert url in told

    resumed = obo(*said(told, "to go on with them"), env=bench.env)
    assert resumed.status == 0, resumed.stderr
    assert bench.tasks() == [task_id]
    assert running(bench) == []
    assert "may still run" not in resumed.stderr


def test_the_commands_that_are_said_cancel_and_clean(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(solve_delay_sec=600.0))
    until(lambda: bench.checkpoint().get("status") == "running")
    told = end(bench, process, signal.SIGTERM)
    assert len(bench.containers()) == 1
    cleaned = obo(*said(told, "to remove leftovers"), "--force", env=bench.env)
    assert cleaned.status == 0, cleaned.stderr
    # Detached paid work is no orphan.
    assert len(bench.containers()) == 1
    cancelled = obo(*said(told, "to cancel them"), env=bench.env)
    assert cancelled.status == 0, cancelled.stderr
    assert bench.rows()[-1]["reason_code"] == "cancelled_by_operator"
    assert not bench.containers()


def test_a_signal_while_a_gate_waits_for_the_server_leaves_nothing(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(start_delay_sec=600.0))
    until((bench.root / "run_manifest.json").exists)
    time.sleep(2)
    told = end(bench, process, signal.SIGHUP)
    assert "may still run" not in told
    assert not (bench.root / "result_index.jsonl").exists()


def test_a_signal_while_an_image_is_pulled_or_waited_for_leaves_nothing(bench: Bench, serve: Serve) -> None:
    held = threading.Event()
    with serving(b"never whole", held=held) as host:
        bench.env["PROGRAMBENCH_DOCKER_ORG"] = f"{host}/org"
        with bench.start(serve()) as process:
            assert process.stderr is not None
            while b"pulling" not in (line := process.stderr.readline()):
                assert line, "it ended before it pulled"
            process.send_signal(signal.SIGINT)
            time.sleep(1)
            held.set()
            told = process.stderr.read().decode()
    assert process.returncode == 130
    [row] = bench.rows()
    assert (row["status"], row["reason_code"]) == ("not_attempted", "interrupted")
    assert "may still run" not in told
    assert bench.tasks() == []


def test_a_signal_while_one_runs_and_one_waits_for_a_worker(bench: Bench, serve: Serve) -> None:
    bench.chosen = [IID, OTHER]
    url = serve(workers=1, solve_delay_sec=5.0)
    process = bench.start(url, "--workers", "2")
    until(lambda: len(bench.tasks()) == 1 and len(bench.containers()) == 2)
    time.sleep(2)
    told = end(bench, process)
    rows = {row["instance_id"]: row["reason_code"] for row in bench.rows()}
    assert sorted(rows.values()) == ["interrupted", "interrupted"]
    statuses = sorted(row["status"] for row in bench.rows())
    assert statuses == ["failed", "not_attempted"]
    # The one that was only prepared has lost its container, and is in nobody's way.
    assert len(bench.containers()) == len(running(bench)) == 1
    resumed = obo(*said(told, "to go on with them"), env=bench.env)
    assert resumed.status == 0, resumed.stderr
    assert len(bench.tasks()) == len(set(bench.tasks())) == 2


def test_a_signal_between_the_intent_and_the_answer_loses_no_task(bench: Bench, serve: Serve) -> None:
    url = serve(answer_delay_sec=6.0)
    process = bench.start(url)
    until(bench.tasks)
    told = end(bench, process)
    assert bench.tasks()[0] in told
    assert bench.rows()[-1]["reason_code"] == "interrupted"
    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1


def test_a_second_signal_leaves_at_once_and_still_accounts_for_everything(bench: Bench, serve: Serve) -> None:
    bench.chosen = [IID, OTHER]
    url = serve(answer_delay_sec=25.0)
    process = bench.start(url)
    until(bench.tasks)
    process.send_signal(signal.SIGINT)
    time.sleep(2)
    assert process.poll() is None
    sent = time.monotonic()
    told = end(bench, process, signal.SIGTERM)
    assert time.monotonic() - sent < 8
    rows = {row["instance_id"]: (row["status"], row["reason_code"]) for row in bench.rows()}
    assert rows == {OTHER: ("failed", "interrupted"), IID: ("not_attempted", "interrupted")}
    assert [task["instance_id"] for task in running(bench)] == [OTHER]
    assert bench.tasks()[0] in told


def test_cancelling_ends_the_task_and_its_container_and_a_resume_leaves_it_so(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=600.0)
    process = bench.start(url, *CANCEL)
    until(lambda: bench.checkpoint().get("status") == "running")
    told = end(bench, process)
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("failed", "cancelled_by_operator")
    assert row["details"]["infrastructure"] is False
    assert row["cost"] != {}
    assert bench.checkpoint()["status"] == "cancelled"
    assert not bench.containers()
    assert running(bench) == []
    assert "may still run" not in told

    again = bench.run(url)
    assert again.status == 1
    assert bench.rows()[-1]["reason_code"] == "cancelled_by_operator"
    assert len(bench.tasks()) == 1


def test_what_had_finished_meanwhile_is_packaged_not_cancelled(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(finalize_delay_sec=6.0), *CANCEL)
    until(lambda: '"finalizing"' in told_of(bench))
    end(bench, process)
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("completed", "submission_prepared")
    assert (bench.instance / "submission.tar.gz").is_file()
    assert not bench.containers()


def told_of(bench: Bench) -> str:
    """What the server says of the instance's task."""
    task_id = bench.checkpoint().get("task_id")
    url = bench.manifest()["harness"]["ouroboros_url"] if (bench.root / "run_manifest.json").exists() else ""
    if not task_id or not url or not bench.tasks():
        return ""
    with urllib.request.urlopen(f"{url}/api/tasks/{task_id}", timeout=10) as answer:  # loopback
        return json.dumps(json.load(answer))


def test_a_task_that_cannot_be_cancelled_is_said_to_go_on(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=600.0, faults=(parse_fault("cancel:status=500"),))
    process = bench.start(url, *CANCEL)
    until(lambda: bench.checkpoint().get("status") == "running")
    told = end(bench, process)
    row = bench.rows()[-1]
    assert row["reason_code"] == "interrupted"
    assert "may still run and spend" in row["error"]
    assert len(bench.containers()) == len(running(bench)) == 1
    assert "may still run" in told


def test_a_resume_does_not_repeat_what_would_cost_a_live_task() -> None:
    own = ["programbench", "run", "--slice", "0:3", "--redo-existing"]
    assert resuming(own, "x y") == ["programbench", "run", "--slice", "0:3", "--run-id", "x y"]
    assert resuming([*own, "--run-id=r"], "r") == ["programbench", "run", "--slice", "0:3", "--run-id=r"]


def test_many_tasks_are_counted_and_some_are_named() -> None:
    tasks = [{"task_id": f"t{number}", "instance_id": "i", "container": "c"} for number in range(30)]
    manifest = {"run_root": "/runs/a b", "harness": {"ouroboros_url": "u"}, "extra": {"still_running": tasks}}
    text = how_to_go_on(manifest, ["programbench", "run"])
    assert "30 task(s)" in text
    assert "and 10 more" in text
    assert "cancel '/runs/a b'" in text
    of_steps = [{**task, "run_root": "/runs/c.trial"} for task in tasks]
    campaign = {**manifest, "command": "campaign run", "extra": {"still_running": of_steps}}
    text = how_to_go_on(campaign, ["campaign", "run", "c.toml", "--repo-dir", "/o", "--max-cost-usd", "3"])
    assert "obo-bench campaign resume '/runs/a b' --repo-dir /o\n" in text
    assert "programbench cancel /runs/c.trial" in text
    assert how_to_go_on({**manifest, "extra": {"still_running": []}}, []) == how_to_go_on(None, []) == ""
