"""A campaign whose process, or whose step's, is told to end or killed: a resume goes on with no step done twice."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent

import pytest

from tests.campaign_world import ASK, PATIENCE_SEC, QUICK, WAIT, CampaignWorld
from tests.test_run import until

Serve = Callable[..., str]


@pytest.fixture
def world(checkout: Path, tmp_path: Path) -> Iterator[CampaignWorld]:
    made = CampaignWorld(tmp_path / "w", checkout)
    yield made
    made.end()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_goes_to_the_step_and_a_resume_goes_on(
    world: CampaignWorld, serve: Serve, signum: signal.Signals
) -> None:
    world.url = serve()
    world.script("one.py", WAIT)
    world.write(world.exec_step("one") + ASK)
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    os.killpg(process.pid, signum)  # as a terminal does it: the step is in a group of its own
    assert process.wait(PATIENCE_SEC) == 128 + signum
    assert not world.step_processes()
    assert world.story() == [("one", "step_started"), ("one", "interrupted")]
    assert world.manifest["extra"]["exit_code"] == 128 + signum
    (world.file.parent / "one.go").touch()
    assert world.run("resume").status == 0
    assert world.last() == {"one": "completed", "ask": "completed"}


def test_a_step_that_outlives_a_killed_campaign_is_waited_for(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.script("one.py", WAIT)
    world.write(world.exec_step("one") + ASK)
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    process.kill()
    process.wait()
    assert world.resumes() == {"one": "wait", "ask": "start"}
    resumed = world.start("resume")
    until(lambda: b"waiting for its end" in (world.place / "told").read_bytes(), PATIENCE_SEC)
    (world.file.parent / "one.go").touch()
    assert resumed.wait(PATIENCE_SEC) == 0
    assert world.started("one.py") == 1
    assert world.story()[:2] == [("one", "step_started"), ("one", "completed")]


def test_a_step_whose_process_has_only_just_begun_is_waited_for(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    slow = world.place / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(f"import sys\nif '--run-id=c.one' in sys.orig_argv:\n{indent(WAIT, '    ')}")
    world.env = {"PYTHONPATH": os.pathsep.join([str(slow), *filter(None, [os.environ.get("PYTHONPATH")])])}
    world.script("one.py", "")
    world.write(world.exec_step("one"))
    process = world.start()
    until((slow / "sitecustomize.waits").exists, PATIENCE_SEC)
    process.kill()
    process.wait()
    assert not (world.runs / "b").exists()
    assert world.resumes() == {"one": "wait"}
    (slow / "sitecustomize.go").touch()
    assert world.run("resume").status == 0
    assert world.started("one.py") == 1


def test_a_step_that_ended_after_the_campaign_was_killed_is_taken_as_it_ended(
    world: CampaignWorld, serve: Serve
) -> None:
    world.url = serve()
    world.script("one.py", WAIT)
    world.write(world.exec_step("one"))
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    process.kill()
    (world.file.parent / "one.go").touch()
    manifest = world.runs / "b" / "c.one" / "run_manifest.json"
    until(lambda: json.loads(manifest.read_text())["extra"]["exit_code"] == 0, PATIENCE_SEC)
    until(lambda: not world.step_processes(), PATIENCE_SEC)
    assert world.run("resume").status == 0
    assert world.started("one.py") == 1
    assert world.story() == [("one", "step_started"), ("one", "completed")]


@pytest.mark.parametrize("with_campaign", [True, False])
def test_a_step_that_was_killed_is_started_again_under_its_own_run_id(
    world: CampaignWorld, serve: Serve, with_campaign: bool
) -> None:
    world.url = serve()
    world.script("one.py", WAIT)
    world.write(QUICK + world.exec_step("one"))
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    if with_campaign:
        process.kill()
        process.wait()
    world.kill(world.step_processes())
    (world.file.parent / "one.go").touch()
    if with_campaign:
        until(lambda: world.resumes() == {"one": "again"}, PATIENCE_SEC)
        assert world.run("resume").status == 0
    else:
        assert process.wait(PATIENCE_SEC) == 0
        assert ("one", "died") in world.story()
    assert world.started("one.py") == 2
    assert [path.name for path in (world.runs / "b").iterdir()] == ["c.one"]


def test_two_invocations_do_not_drive_one_campaign(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.script("one.py", WAIT)
    world.write(world.exec_step("one"))
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    done = world.run("resume")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_locked")
    (world.file.parent / "one.go").touch()
    assert process.wait(PATIENCE_SEC) == 0
