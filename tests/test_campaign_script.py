"""docs/campaign.sh, run as an operator would: every exit status of a run, brought about by a server with faults."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import obo_bench
from obo_bench.practice.standin.faults import parse_fault
from tests.test_run import docker, until

SCRIPT = Path(obo_bench.__file__).parent.parent / "docs" / "campaign.sh"
FIRST, SECOND, THIRD = "practice__wordtally.0000001", "practice__runlength.0000002", "practice__colstat.0000003"
NO_TESTS_AT_FIRST = """
import os, pathlib, sys
mark = pathlib.Path({mark!r})
if "run" in sys.argv and not mark.exists():
    mark.touch()
    os.environ["PROGRAMBENCH_BLOB_DIR"] = "/nonexistent"
"""

QUIET_HOST = """
import os
os.getloadavg = lambda: (0.1, 0.1, 0.1)
"""

PATIENCE_SEC = 150
"""For a run to come to something on a loaded machine."""
Serve = Callable[..., str]
docker_runs = pytest.mark.usefixtures("practice_images")


class Campaign:
    """A directory with files of ids, the command on PATH, and the script."""

    def __init__(self, place: Path, checkout: Path, env: dict[str, str]) -> None:
        self.place, self.checkout = place, checkout
        self.processes: list[subprocess.Popen[str]] = []
        self.runs = place / "runs root"
        self.go_on = place / "go on"
        self.ids = place / "the ids"
        self.env = {
            **os.environ,
            **env,
            "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
            "OUROBOROS_REPO_DIR": str(checkout),
            "OUROBOROS_BENCH_RUNS_ROOT": str(self.runs),
            "CAMPAIGN_GO_ON": str(self.go_on),
            "CAMPAIGN_RETRY_SEC": "0",
        }
        self.ids.mkdir(parents=True)
        self.command()

    def command(self, before: str = "") -> None:
        """Put `obo-bench` on PATH; `before` is Python that runs first."""
        program = self.place / "bin" / "obo-bench"
        program.parent.mkdir(exist_ok=True)
        (program.parent / "start.py").write_text(f"{before}\nfrom obo_bench.__main__ import run\nrun()\n")
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "${{0%/*}}/start.py" "$@"\n')
        program.chmod(0o755)

    def batch(self, name: str, *instance_ids: str) -> None:
        (self.ids / f"{name}.txt").write_text("".join(f"{one}\n" for one in instance_ids))

    def start(self, url: str, **changes: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            ["sh", str(SCRIPT), "c", str(self.ids), "--memory", "512m", "--cpus", "1", "--timeout-sec", "600"],
            env={**self.env, "OBO_BENCH_OUROBOROS_URL": url, **changes},
            cwd=self.place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def run(self, url: str, **changes: str) -> tuple[int, str]:
        process = self.start(url, **changes)
        told = process.communicate(timeout=PATIENCE_SEC)[1]
        return process.returncode, told

    def root(self, batch: str) -> Path:
        return self.runs / "programbench" / f"c-{batch}"

    def manifest(self, batch: str) -> dict[str, Any]:
        value = json.loads((self.root(batch) / "run_manifest.json").read_text())
        assert isinstance(value, dict)
        return value

    def tasks(self) -> list[str]:
        log = self.checkout.parent / "data" / "tasks.jsonl"
        return [json.loads(line)["task_id"] for line in log.read_text().splitlines()] if log.exists() else []

    def end(self) -> None:
        """Leave no process behind where a test has failed."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def sweep(self) -> None:
        for order in self.runs.glob("programbench/*/instance_order.json"):
            label = f"label=obo-bench.nonce={json.loads(order.read_text())['run_nonce']}"
            for kind in ("container", "volume"):
                for name in docker(
                    kind, "ls", "-q", *(["-a"] if kind == "container" else []), "--filter", label
                ).split():
                    docker(kind, "rm", "-f", name)


@pytest.fixture
def campaign(checkout: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """Only a test that runs something on Docker needs the practice tasks."""
    needs_docker = request.node.get_closest_marker("docker") is not None
    made = Campaign(
        tmp_path / "a campaign's", checkout, request.getfixturevalue("practice_env") if needs_docker else {}
    )
    yield made
    made.end()
    if needs_docker:
        made.sweep()


def test_the_script_is_plain_posix_shell() -> None:
    assert SCRIPT.read_text().startswith("#!/bin/sh\n")
    assert os.access(SCRIPT, os.X_OK)
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([shellcheck, "--shell=sh", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_another_version_at_the_server_stops_it_before_the_first_run(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    status, told = campaign.run(serve(version="6.99.0"))
    assert status == 3, told
    assert "stopped (3): a run would not be admitted" in told
    assert not (campaign.runs / "programbench").exists()


def test_a_changed_checkout_stops_it(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    (campaign.checkout / "VERSION").write_text("6.75.1\n")
    assert campaign.run(serve())[0] == 4


def test_a_meaningless_option_stops_it_after_one_try(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    campaign.batch("2", SECOND)
    status, told = campaign.run(serve(), CAMPAIGN_MAX_COST_USD="plenty")
    assert status == 2, told
    assert told.count("campaign c: run c-") == 1


def test_without_ids_nothing_is_started(campaign: Campaign) -> None:
    assert campaign.run("http://127.0.0.1:1") == (2, f"campaign c: stopped (2): no file *.txt in {campaign.ids}\n")
    shutil.rmtree(campaign.ids)
    status, told = campaign.run("http://127.0.0.1:1")
    assert (status, told.split(":")[0]) == (2, "usage")


@pytest.mark.docker
@docker_runs
def test_runs_follow_one_another_once_the_first_has_passed_the_gate(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    campaign.batch("2", SECOND)
    campaign.command(QUIET_HOST)
    scores = campaign.place / "scores.csv"
    scores.write_text(f"id,score\n{FIRST},0.5\n")
    url = serve()
    gate = {"CAMPAIGN_REFERENCE": str(scores), "CAMPAIGN_MIN_PAIRS": "1"}
    status, told = campaign.run(url, **gate)
    assert status == 0, told
    assert "GO" in told
    assert [campaign.manifest(batch)["extra"]["exit_code"] for batch in "12"] == [0, 0]

    campaign.batch("3", THIRD)
    status, told = campaign.run(url, CAMPAIGN_REFERENCE=str(scores))
    assert status == 6, told
    assert "stopped (6): the gate does not say GO" in told
    assert len(campaign.tasks()) == 2


@pytest.mark.docker
@docker_runs
def test_infrastructure_that_fails_again_and_again_stops_it(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST, SECOND, THIRD)
    campaign.batch("2", FIRST)
    status, told = campaign.run(serve(scenario="infra"))
    assert status == 7, told
    assert campaign.manifest("1")["extra"]["outcome"] == "stopped_systemic"
    assert not campaign.root("2").exists()


@pytest.mark.docker
@docker_runs
def test_it_pauses_at_the_ceiling_and_goes_on_when_it_is_told_a_new_one(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST, SECOND)
    campaign.go_on.write_text("left from an earlier pause")
    process = campaign.start(serve(scenario="priced"), CAMPAIGN_MAX_COST_USD="0.001")
    manifest = campaign.root("1") / "run_manifest.json"
    until(lambda: manifest.exists() and campaign.manifest("1")["extra"]["exit_code"] == 8, PATIENCE_SEC)
    until(lambda: not campaign.go_on.exists())
    campaign.go_on.write_text("more\n")
    until(lambda: not campaign.go_on.exists())
    campaign.go_on.write_text("5\n")
    told = process.communicate(timeout=PATIENCE_SEC)[1]
    assert process.returncode == 0, told
    assert "paused (8): the ceiling of 0.001 USD is reached" in told
    assert "not a number of USD: more" in told
    assert "going on with a ceiling of 5 USD" in told
    assert campaign.manifest("1")["extra"]["completed_count"] == 2
    assert len(campaign.tasks()) == 2


@pytest.mark.docker
@docker_runs
@pytest.mark.parametrize(("signum", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_signal_ends_it_with_its_run_and_the_same_command_goes_on(
    campaign: Campaign, serve: Serve, signum: signal.Signals, to_all: bool
) -> None:
    campaign.batch("1", FIRST)
    url = serve(solve_delay_sec=3.0)
    process = campaign.start(url)
    checkpoint = campaign.root("1") / FIRST / "ouroboros_task_checkpoint.json"
    until(lambda: checkpoint.exists() and '"running"' in checkpoint.read_text(), PATIENCE_SEC)
    if to_all:  # as a terminal does it
        os.killpg(process.pid, signum)
    else:
        process.send_signal(signum)
    told = process.communicate(timeout=PATIENCE_SEC)[1]
    assert process.returncode == 128 + signum, told
    assert campaign.manifest("1")["extra"]["exit_code"] == 128 + signum
    if to_all:
        status, told = campaign.run(url)
        assert status == 0, told
    assert len(campaign.tasks()) == 1


@pytest.mark.docker
@docker_runs
def test_a_run_that_was_interrupted_alone_is_resumed(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    process = campaign.start(serve(solve_delay_sec=3.0))
    checkpoint = campaign.root("1") / FIRST / "ouroboros_task_checkpoint.json"
    until(lambda: checkpoint.exists() and '"running"' in checkpoint.read_text(), PATIENCE_SEC)
    owner = json.loads((campaign.root("1") / ".run.owner.json").read_text())
    os.kill(owner["pid"], signal.SIGHUP)
    told = process.communicate(timeout=PATIENCE_SEC)[1]
    assert process.returncode == 0, told
    assert "was interrupted (129); again in 0 s" in told
    assert len(campaign.tasks()) == 1


@pytest.mark.docker
@docker_runs
def test_what_stayed_ungraded_is_graded_by_another_try(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    campaign.command(NO_TESTS_AT_FIRST.format(mark=str(campaign.place / "tried")))
    status, told = campaign.run(serve())
    assert status == 0, told
    assert "has ungraded submissions (6); again in 0 s" in told
    assert len(campaign.tasks()) == 1


@pytest.mark.docker
@docker_runs
def test_what_stays_ungraded_stops_it_and_what_failed_does_not(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    campaign.batch("2", SECOND)
    campaign.env["PROGRAMBENCH_BLOB_DIR"] = "/nonexistent"
    url = serve(faults=(parse_fault("work:agent-failure=wordtally"),))
    status, told = campaign.run(url, CAMPAIGN_RETRIES="1")
    assert status == 6, told
    assert [campaign.manifest(batch)["extra"]["exit_code"] for batch in "12"] == [1, 6]
    assert "also after 1 more tries" in told


@pytest.mark.docker
@docker_runs
def test_at_its_end_it_names_the_runs_in_which_instances_failed(campaign: Campaign, serve: Serve) -> None:
    campaign.batch("1", FIRST)
    campaign.batch("2", SECOND)
    status, told = campaign.run(serve(faults=(parse_fault("work:agent-failure=wordtally"),)))
    assert status == 1, told
    assert told.rstrip().endswith("finished; instances failed in: c-1")
