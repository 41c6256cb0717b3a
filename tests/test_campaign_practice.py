"""A campaign of five steps on practice tasks: real containers, the real evaluator, a server that counts its tasks."""

import json
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.practice.standin.faults import parse_fault
from tests.campaign_world import PATIENCE_SEC, CampaignWorld
from tests.conftest import obo
from tests.test_run import docker, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

Serve = Callable[..., str]
FIRST, SECOND, THIRD = "practice__wordtally.0000001", "practice__runlength.0000002", "practice__colstat.0000003"
QUIET_HOST = "import os\nos.getloadavg = lambda: (0.1, 0.1, 0.1)\n"
STEPS = ["ask", "trial", "trial-eval", "gate", "full"]
CAMPAIGN = f"""
[campaign]
retries = 9
retry_pause_sec = 0.0

[[steps]]
id = "ask"
kind = "attest"

[[steps]]
id = "trial"
kind = "run"
needs = ["ask"]
options = {{ ids_file = "trial.txt", memory = "512m", cpus = 1, timeout_sec = 600 }}

[[steps]]
id = "trial-eval"
kind = "eval"
needs = ["trial"]
on = ["completed", "instances_failed"]
options = {{ run = "${{steps.trial.run_id}}", docker_cpus = 1 }}

[[steps]]
id = "gate"
kind = "gate"
needs = ["trial-eval"]
options = {{ run = "${{steps.trial.run_root}}", tasks = "trial.txt", reference = "scores.csv", min_pairs = 1 }}

[[steps]]
id = "full"
kind = "run"
needs = ["gate"]
options = {{ instance_id = ["{SECOND}", "{THIRD}"], workers = 2, memory = "512m", cpus = 1, timeout_sec = 600 }}
"""


@pytest.fixture
def world(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[CampaignWorld]:
    quiet = tmp_path / "quiet"
    quiet.mkdir()
    (quiet / "sitecustomize.py").write_text(QUIET_HOST)
    path = f"{quiet}:{practice_env['PYTHONPATH']}"
    made = CampaignWorld(tmp_path / "w", checkout, {**practice_env, "PYTHONPATH": path})
    made.write(CAMPAIGN)
    (made.file.parent / "trial.txt").write_text(f"{FIRST}\n")
    (made.file.parent / "scores.csv").write_text(f"id,score\n{FIRST},0.5\n")
    yield made
    made.end()
    sweep(made)


def sweep(world: CampaignWorld) -> None:
    for order in world.runs.glob("programbench/*/instance_order.json"):
        label = f"label=obo-bench.nonce={json.loads(order.read_text())['run_nonce']}"
        for kind, every in (("container", ["-a"]), ("volume", [])):
            for name in docker(kind, "ls", "-q", *every, "--filter", label).split():
                docker(kind, "rm", "-f", name)


def test_a_gate_that_says_no_go_ends_it_before_the_rest_is_paid_for(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve(faults=(parse_fault("work:partial=wordtally"),))
    (world.file.parent / "scores.csv").write_text(f"id,score\n{FIRST},1.0\n")
    done = world.run()
    assert (done.status, done.manifest["extra"]["outcome"]) == (1, "gate_no_go"), done.stderr
    expected = {"ask": "completed", "trial": "completed", "trial-eval": "completed", "gate": "gate_no_go"}
    assert world.last() == {**expected, "full": "needs_not_met"}
    assert len(world.tasks()) == 1
    again = world.run("resume")
    assert (again.status, len(world.tasks())) == (1, 1), again.stderr


def test_what_an_interrupted_step_left_at_work_is_told_by_the_campaign(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve(solve_delay_sec=60.0)
    process = world.start()
    until(lambda: bool(world.tasks()), PATIENCE_SEC)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_SEC) == 130
    trial = str(world.runs / "programbench" / "c.trial")
    [left] = world.manifest["extra"]["still_running"]
    assert (left["task_id"], left["run_root"]) == (world.tasks()[0], trial)
    assert [task["task_id"] for task in world.status()["still_running"]] == world.tasks()
    told = (world.place / "told").read_text()
    assert told.count("may still run") == 1
    assert f"to go on with them:  obo-bench campaign resume '{world.root}'" in told
    assert f"cancel '{trial}'" in told
    shown = obo("campaign", "status", "c", "--runs-root", world.runs).stdout
    assert f"to go on with them: obo-bench campaign resume '{world.root}'" in shown


@pytest.mark.timeout(600)
def test_killed_again_and_again_it_ends_with_no_step_done_twice(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve(solve_delay_sec=1.0)
    dice = random.Random(20)
    for number in range(6):
        process = world.start("resume" if (world.root / "campaign.json").exists() else "run")
        process_ended(process, dice.uniform(1.0, 7.0))
        steps = world.step_processes()
        victims = dice.choice(["campaign", "step", "both"])
        if victims != "campaign":
            world.kill(steps)
        if victims != "step" or number % 2:
            process.kill()
            process.wait()
        elif not process_ended(process, dice.uniform(0.0, 3.0)):
            process.send_signal(signal.SIGKILL)
            process.wait()
    done = world.run("resume")
    assert done.status == 0, done.stderr
    assert world.last() == dict.fromkeys(STEPS, "completed")
    assert [name for name, reason in world.story() if reason == "completed"] == STEPS
    tasks = world.tasks()
    assert sorted(task.rpartition("-")[0].partition("-practice")[2] for task in tasks) == [
        "__colstat.0000003",
        "__runlength.0000002",
        "__wordtally.0000001",
    ]


def process_ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
