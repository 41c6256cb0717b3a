"""A launcher with `benchmark_run` under the real `obo-bench exec`: what it says is what exec records."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.exec_world import ExecWorld
from tests.launcher_case import LAUNCHER, document
from tests.test_benchmark_run_docs import SOLVER, example


@pytest.fixture
def world(tmp_path: Path, checkout: Path) -> ExecWorld:
    return ExecWorld(tmp_path / "world", checkout)


def launcher(how: str, **arguments: Any) -> list[str]:
    return [sys.executable, "-c", LAUNCHER.replace('"gaia"', '"demo"'), how, json.dumps(arguments)]


@dataclass(frozen=True)
class Way:
    """A way out of the launcher."""

    how: str
    status: int
    outcome: str
    child: int | None = None
    """The launcher's own status where exec's is another."""
    reason: str | None = None


WAYS = {
    "done": Way("run.record('a')", 0, "completed"),
    "failed": Way("run.record('a', 'failed')", 1, "instances_failed"),
    "no money": Way("run.conclude('stopped_budget')", 8, "stopped_budget"),
    "exit 9": Way("sys.exit(9)", 9, "child_failed"),
    "a crash": Way("1 / 0", 70, "child_failed"),
    "a refusal": Way("from obo_bench import SeedShapeRefused as R\nraise R('seed_shallow', 'x')", 4, "child_failed"),
    "a fatal reason": Way("run.stop_if_fatal('runtime_changed')", 7, "stopped_provenance", None, "runtime_changed"),
    "a fatal row": Way(
        "run.record('a', 'failed', reason_code='lineage_broken')", 7, "stopped_provenance", None, "lineage_broken"
    ),
    "SIGTERM": Way("os.kill(os.getpid(), 15); time.sleep(9)", 143, "child_failed"),
    "another benchmark": Way("pass", 5, "child_failed"),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_out_is_recorded_by_exec_alone(world: ExecWorld, name: str) -> None:
    way = WAYS[name]
    command = launcher(way.how)
    if name == "another benchmark":
        command[2] = LAUNCHER
    done = world.run(command, "--task-id", "a")
    extra = done.extra
    assert (done.status, extra["exit_code"], extra["outcome"]) == (way.status, way.status, way.outcome), done.stderr
    assert (extra["refusal"] or {}).get("reason") == way.reason
    if name not in ("a fatal reason", "a fatal row"):  # exec may be quicker than the launcher's own end
        assert extra["child_exit_code"] == way.status
        assert extra["child_report"]["problems"] == []
    assert len(list(world.runs.rglob("run_manifest.json"))) == 1
    if name == "another benchmark":
        assert extra["child_report"]["claim"]["refusal_reason"] == "launcher_contradicts_run"


def test_eight_threads_and_a_thousand_rows(world: ExecWorld) -> None:
    how = (
        "def work(first):\n  for number in range(first, 1000, 8): run.record(str(number), cost_usd=0.001)\n"
        "threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]\n"
        "for thread in threads: thread.start()\nfor thread in threads: thread.join()"
    )
    command = launcher(how)
    done = world.run(command)
    assert (done.status, done.extra["outcome"]) == (0, "completed"), done.stderr
    assert {row.instance_id for row in done.rows} == {str(number) for number in range(1000)}
    assert len(done.rows) == 1000
    assert done.report["rows_bad"] == 0
    assert done.extra["cost"]["rows_usd"] == pytest.approx(1.0)


def test_an_interrupt_of_exec_ends_the_launcher_on_record(world: ExecWorld) -> None:
    ready = world.directory / "ready"
    how = f"run.record('a'); Path({str(ready)!r}).touch(); time.sleep(60)"
    process = world.start(launcher(how), "--task-id", "a", "--task-id", "b")
    world.until_ready()
    process.send_signal(signal.SIGINT)
    done = world.ended(process)
    assert (done.status, done.extra["outcome"], done.extra["child_exit_code"]) == (130, "interrupted", 130)
    claim = done.report["claim"]
    assert (claim["outcome"], claim["completed_count"], claim["not_attempted_count"]) == ("child_failed", 1, 1)


def test_the_environment_of_a_killed_exec_is_believed_no_more(world: ExecWorld, tmp_path: Path) -> None:
    how = (
        f"Path({str(world.directory / 'environ')!r}).write_text(json.dumps(dict(os.environ)))\n"
        f"Path({str(world.directory / 'ready')!r}).touch(); time.sleep(60)"
    )
    process = world.start(launcher(how))
    world.until_ready()
    os.kill(process.pid, signal.SIGKILL)
    world.ended(process)
    environ = json.loads((world.directory / "environ").read_text())
    command = launcher("run.record('a')", run_root=str(tmp_path / "own"))
    again = subprocess.run(command, env=environ, capture_output=True, timeout=60, check=False)
    assert again.returncode == 5
    assert document(tmp_path / "own" / "run_manifest.json")["extra"]["refusal"]["reason"] == "launcher_contract_stale"


def test_the_launcher_of_the_docs_under_its_preset(world: ExecWorld, tmp_path: Path, serve: Callable[..., str]) -> None:
    (tmp_path / "predict.py").write_text(example())
    (tmp_path / "solver").write_text(SOLVER)
    (tmp_path / "solver").chmod(0o755)
    (tmp_path / "tasks.jsonl").write_text('{"instance_id": "a"}\n{"instance_id": "hard"}\n')
    url = serve()
    command = [sys.executable, str(tmp_path / "predict.py"), "--input", str(tmp_path / "tasks.jsonl")]
    command += ["--output", str(tmp_path / "predictions.jsonl"), "--solver", str(tmp_path / "solver")]
    command += ["--repo-dir", str(world.checkout), "--ouroboros-url", url]
    done = world.run(command, "--preset", "swe-bench", "--benchmark", "swe-bench", url=url)
    manifest = document(world.runs / "swe-bench" / world.run_id / "run_manifest.json")
    extra = manifest["extra"]
    assert (done.status, extra["outcome"], extra["child_exit_code"]) == (1, "instances_failed", 1), done.stderr
    assert (manifest["requested_task_ids"], extra["completed_count"], extra["failed_count"]) == (["a", "hard"], 1, 1)
    assert extra["runtime_attestation"]["ok"]
    assert extra["child_report"]["problems"] == []
