"""A signal that comes while a child process is being started finds that child: it is told, and its end is recorded."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.campaign_world import ASK, PATIENCE_SEC, WAIT, CampaignWorld
from tests.exec_world import ExecWorld, alive, shell

Serve = Callable[..., str]


def signal_at_start_of(word: str, directory: Path) -> dict[str, str]:
    """Return the environment in which a process gets SIGTERM the moment it has started one with `word` in its line."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(
        dedent(
            f"""
            import os, signal, subprocess
            real = subprocess.Popen.__init__

            def started(self, args, *more, **named):
                real(self, args, *more, **named)
                if {word!r} in [os.path.basename(str(each)) for each in args]:
                    subprocess.Popen.__init__ = real
                    os.kill(os.getpid(), signal.SIGTERM)

            subprocess.Popen.__init__ = started
            """
        )
    )
    return {"PYTHONPATH": str(directory)}


@pytest.fixture
def campaign(checkout: Path, tmp_path: Path) -> Iterator[CampaignWorld]:
    made = CampaignWorld(tmp_path / "w", checkout, signal_at_start_of("obo_bench", tmp_path / "site"))
    yield made
    made.end()


def test_exec_passes_it_on_and_records_how_its_launcher_ended(tmp_path: Path, checkout: Path) -> None:
    world = ExecWorld(tmp_path / "w", checkout)
    env = signal_at_start_of("guardian.py", tmp_path / "site")
    # The shell may be told before it can listen.
    found = world.run(shell("echo $$ > pid; trap 'echo told; exit 9' TERM; sleep 100 & wait"), env=env)
    assert (found.status, found.extra["outcome"]) == (143, "interrupted")
    assert (found.extra["child_exit_code"], found.log) in ((143, b""), (9, b"told\n"))
    assert found.report["stopped_for"] == f"signal {int(signal.SIGTERM)}"
    pid = world.directory / "pid"
    assert not pid.exists() or not alive(int(pid.read_text()))


def test_a_campaign_waits_for_its_step_and_records_how_it_ended(campaign: CampaignWorld, serve: Serve) -> None:
    campaign.url = serve()
    campaign.script("one.py", WAIT)
    campaign.write(campaign.exec_step("one") + ASK)
    assert campaign.start().wait(PATIENCE_SEC) == 143
    assert not campaign.step_processes()
    started, ended = campaign.story()
    assert (started, ended[0]) == (("one", "step_started"), "one")
    assert ended[1] != "step_started"
    assert campaign.manifest["extra"]["outcome"] == "interrupted"
    campaign.env.clear()
    (campaign.file.parent / "one.go").touch()
    assert campaign.run("resume").status == 0
    assert campaign.last() == {"one": "completed", "ask": "completed"}
