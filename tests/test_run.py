"""`programbench run` on real parts: Docker, git, sockets, the official package; only the agent is scripted."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.practice.standin import StandIn, StandInConfig
from tests.conftest import Done, git, obo

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

Serve = Callable[..., str]
IID = "practice__wordtally.0000001"


EVALUATOR = "label=obo-bench.role=evaluator"


class Bench:
    """One run root, the server's address, and the commands on it."""

    def __init__(self, checkout: Path, tmp_path: Path, env: dict[str, str]) -> None:
        self.checkout, self.env = checkout, env
        self.runs = tmp_path / "runs: with a colon"
        self.root = self.runs / "programbench" / "r"
        self.instance = self.root / IID
        self.data = checkout.parent / "data"
        self.chosen = [IID]

    def arguments(self, url: str, *more: str) -> list[str]:
        chosen = [part for name in self.chosen for part in ("--instance-id", name)]
        base = ["programbench", "run", "--repo-dir", str(self.checkout), "--ouroboros-url", url, "--run-id", "r"]
        base += ["--runs-root", str(self.runs), *chosen, "--memory", "512m", "--cpus", "1", "--json"]
        return [*base, "--timeout-sec", "600", *more]

    def run(self, url: str, *more: str) -> Done:
        done = obo(*self.arguments(url, *more), env=self.env)
        assert done.status == done.envelope["exit_code"] == done.manifest["extra"]["exit_code"], done.stderr
        return done

    def start(self, url: str, *more: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "obo_bench", *self.arguments(url, *more)],
            env={**os.environ, **self.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def start_and_kill(self, url: str) -> None:
        """Leave a run as a SIGKILL leaves it: its task at work, its container alive, no ending on disk."""
        process = self.start(url)
        until(lambda: self.checkpoint().get("status") == "running")
        process.kill()
        process.communicate()

    def rows(self, where: Path | None = None) -> list[dict[str, Any]]:
        lines = ((where or self.root) / "result_index.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def checkpoint(self) -> dict[str, Any]:
        try:
            value = json.loads((self.instance / "ouroboros_task_checkpoint.json").read_text())
        except FileNotFoundError:
            return {}
        assert isinstance(value, dict)
        return value

    def tasks(self) -> list[str]:
        log = self.data / "tasks.jsonl"
        return [json.loads(line)["task_id"] for line in log.read_text().splitlines()] if log.exists() else []

    def manifest(self) -> dict[str, Any]:
        value = json.loads((self.root / "run_manifest.json").read_text())
        assert isinstance(value, dict)
        return value

    def nonce(self) -> str:
        return str(json.loads((self.root / "instance_order.json").read_text())["run_nonce"])

    def containers(self) -> list[str]:
        """All our containers of this run, running or not."""
        return docker("ps", "-aq", "--filter", f"label=obo-bench.nonce={self.nonce()}").split()

    def volumes(self) -> list[str]:
        return docker("volume", "ls", "-q", "--filter", f"label=obo-bench.nonce={self.nonce()}").split()

    def sweep(self) -> None:
        if (self.root / "instance_order.json").exists():
            for container in self.containers():
                docker("rm", "-f", container)
            for volume in self.volumes():
                docker("volume", "rm", "-f", volume)


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, check=True, text=True, timeout=60).stdout.strip()


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.05)


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    yield made
    made.sweep()


def assert_solved(bench: Bench, done: Done) -> None:
    assert done.status == 0, done.stderr
    assert done.manifest["extra"]["outcome"] == "completed"
    assert done.manifest["extra"]["exit_code"] == 0
    assert (bench.instance / "submission.tar.gz").is_file()
    assert not bench.containers()
    assert not bench.volumes()


def test_solved_graded_and_not_paid_for_again(bench: Bench, serve: Serve) -> None:
    url = serve()
    done = bench.run(url, "--eval")
    assert_solved(bench, done)
    assert done.envelope["result"]["grades"]["pass"] == 1
    summary = json.loads((bench.root / "grade_summary.json").read_text())
    assert (summary["pass"], summary["fail"], summary["ungraded"]) == (1, 0, 0)
    solved = bench.rows()[0]
    assert (solved["status"], solved["reason_code"], solved["details"]["protection"]) == (
        "completed",
        "submission_prepared",
        "os",
    )
    assert bench.rows()[-1]["official_eval_status"] == "pass"
    assert bench.rows() == bench.rows(bench.instance)

    again = bench.run(url)
    assert again.status == 0
    assert len(bench.tasks()) == 1
    for where in (bench.root, bench.instance):
        last = bench.rows(where)[-1]
        assert (last["status"], last["reason_code"]) == ("skipped", "skipped_existing_submission")
        assert last["submission_sha256"] == solved["submission_sha256"]
        assert last["prediction_written"] is True
        assert last["official_eval_status"] == "pass"
    assert len(list((bench.root / "manifests").iterdir())) == 1
    assert again.manifest["extra"]["invocations"][0]["outcome"] == "completed"


def test_the_workspace_is_a_repository_that_ignores_both_binaries(bench: Bench, serve: Serve) -> None:
    assert_solved(bench, bench.run(serve()))
    workspace = bench.instance / "workspace"
    assert git(workspace, "rev-parse", "--show-toplevel") == str(workspace.resolve())
    assert git(workspace, "log", "--format=%s") == "Task as given"
    ignored = git(workspace, "check-ignore", "executable", "reference_executable")
    assert ignored.split() == ["executable", "reference_executable"]
    assert (workspace / "reference_executable").readlink() == Path("/reference/reference_executable")


def test_killed_while_polling(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=6.0)
    bench.start_and_kill(url)
    task_id = bench.checkpoint()["task_id"]
    assert bench.manifest()["extra"]["outcome"] == "started"
    assert len(bench.containers()) == 1

    done = bench.run(url)
    assert_solved(bench, done)
    assert bench.tasks() == [task_id]
    assert bench.checkpoint()["task_id"] == task_id
    assert done.manifest["extra"]["invocations"][0]["died_unrecorded"] is True
    assert "died without an ending" in done.stderr


def test_killed_between_the_submission_and_its_answer(bench: Bench, serve: Serve) -> None:
    url = serve(answer_delay_sec=5.0)
    process = bench.start(url)
    until(bench.tasks)
    process.kill()
    process.communicate()
    assert bench.checkpoint()["status"] == "intent"
    [task_id] = bench.tasks()

    assert_solved(bench, bench.run(url))
    assert bench.tasks() == [task_id]
    assert bench.checkpoint()["task_id"] == task_id


def test_an_intent_that_never_arrived_is_posted_under_the_same_id(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    process = bench.start(serve(answer_delay_sec=5.0))
    until(bench.tasks)
    process.kill()
    process.communicate()
    [task_id] = bench.tasks()
    # A server with other data: it has never heard of the task.
    bench.data = tmp_path / "workspace" / "other-data"
    assert_solved(bench, bench.run(serve(data_dir=bench.data)))
    assert bench.tasks() == [task_id]


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_the_task_to_the_server(bench: Bench, serve: Serve, signum: int, status: int) -> None:
    url = serve(solve_delay_sec=4.0)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    process.send_signal(signum)
    _, told = process.communicate(timeout=60)
    assert b"may still run" in told
    extra = bench.manifest()["extra"]
    assert process.returncode == extra["exit_code"] == status
    assert extra["outcome"] == "interrupted"
    assert bench.rows()[-1]["reason_code"] == "interrupted"
    assert len(bench.containers()) == 1

    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1


def test_infrastructure_is_a_failure_with_its_own_reason_and_no_grade(bench: Bench, serve: Serve) -> None:
    done = bench.run(serve(scenario="infra"), "--eval", "-q")
    assert done.status == 1
    assert done.manifest["extra"]["outcome"] == "instances_failed"
    ended = "programbench run: instances_failed (exit status 1): of 1 instance(s) 1 failed; grades: 1 ungraded\n"
    assert done.stderr == ended
    [row] = bench.rows()
    assert (row["status"], row["reason_code"]) == ("failed", "provider_unavailable")
    assert row["official_eval_status"] == "not_run"
    assert json.loads((bench.root / "grade_summary.json").read_text())["ungraded"] == 1
    assert not bench.containers()

    again = bench.run(serve(data_dir=bench.checkout.parent / "healthy"))
    assert_solved(bench, again)
    assert bench.rows()[-1]["attempt"] == 2
    assert (bench.instance / "attempts" / "01" / "ouroboros_task_result.json").is_file()


def test_the_container_dies(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(solve_delay_sec=60.0))
    until(lambda: bench.checkpoint().get("status") == "running")
    docker("kill", bench.containers()[0])
    process.communicate(timeout=60)
    assert process.returncode == 1
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("failed", "executor_lost")
    assert "exit 137" in row["error"]
    assert not bench.containers()


def test_a_dry_run_needs_no_server_and_never_counts_as_done(bench: Bench, serve: Serve) -> None:
    done = bench.run("http://127.0.0.1:1", "--dry-run")
    assert done.status == 0, done.stderr
    extra = done.manifest["extra"]
    assert (extra["outcome"], extra["runtime_attestation"]) == ("dry_run", {"skipped": "dry_run"})
    assert done.manifest["harness"]["dry_run"] is True
    body = json.loads((bench.instance / "ouroboros_task_body.json").read_text())
    assert body["metadata"]["programbench_instance_id"] == IID
    assert body["workspace_root"] == str(bench.instance / "workspace")
    assert bench.rows()[-1]["reason_code"] == "dry_run"
    assert not bench.containers()
    assert not bench.volumes()

    assert_solved(bench, bench.run(serve()))
    assert bench.rows()[-1]["reason_code"] == "submission_prepared"


def test_two_processes_never_share_a_run_root(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=8.0)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    live = (bench.root / "run_manifest.json").read_bytes()
    second = bench.run(url)
    assert second.status == 5
    assert second.envelope["refusal"]["reason"] == "run_locked"
    assert str(process.pid) in second.envelope["refusal"]["message"]
    assert Path(second.envelope["manifest"]).parent.name == "manifests"
    assert second.manifest["extra"]["exit_code"] == 5
    assert (bench.root / "run_manifest.json").read_bytes() == live
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_another_selection_is_not_the_same_run(bench: Bench, serve: Serve) -> None:
    url = serve()
    assert_solved(bench, bench.run(url))
    finished = (bench.root / "run_manifest.json").read_bytes()
    other = bench.run(url, "--instance-id", "practice__colstat.0000003")
    assert other.status == 5
    assert other.envelope["refusal"]["reason"] == "resume_config_mismatch"
    assert (bench.root / "run_manifest.json").read_bytes() == finished


def test_a_closed_stdout_is_not_an_error_of_the_run(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve())
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=120)
    assert process.returncode == bench.manifest()["extra"]["exit_code"] == 0
    process.stderr.close() if process.stderr else None


def test_an_image_that_is_nowhere(bench: Bench, serve: Serve) -> None:
    bench.env["PROGRAMBENCH_DOCKER_ORG"] = "no-such-organisation"
    done = bench.run(serve(), "--skip-pull")
    assert done.status == 1
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("blocked", "image_not_found")
    assert "no-such-organisation" in row["error"]
    assert not bench.tasks()
    assert not bench.containers()
    assert not bench.volumes()


def test_the_agent_can_run_the_reference_but_not_take_it(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(solve_delay_sec=20.0))
    until(lambda: bench.checkpoint().get("status") == "running")
    room = bench.containers()[0]

    def inside(script: str) -> int:
        done = subprocess.run(
            ["docker", "exec", room, "sh", "-c", script], capture_output=True, check=False, timeout=60
        )
        return done.returncode

    assert inside("echo a b | ./reference_executable >/dev/null") == 0
    for theft in (
        "cat reference_executable",
        "cp reference_executable /tmp/x",
        "cp /reference/reference_executable /tmp/x",
        "chmod 755 /reference/reference_executable",
        "ln /reference/reference_executable /tmp/x && cat /tmp/x",
        "chown 0 /reference/reference_executable",
        "rm -f /reference/reference_executable; test ! -e /reference/reference_executable",
        "./reference_executable & sleep 0.2; cat /proc/$!/mem",
        "python3 -c \"import os; os.setuid(65532); open('/reference/reference_executable','rb').read()\"",
    ):
        assert inside(theft) != 0, theft
    assert inside("test -e /sys/class/net/eth0") != 0
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_redo_solves_a_done_instance_again_and_keeps_the_first(bench: Bench, serve: Serve) -> None:
    url = serve()
    assert_solved(bench, bench.run(url))
    first = bench.rows()[-1]["submission_sha256"]
    assert_solved(bench, bench.run(url, "--redo-existing"))
    assert len(bench.tasks()) == 2
    assert bench.rows()[-1]["attempt"] == 2
    kept = bench.instance / "attempts" / "01" / "submission.tar.gz"
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == first


def test_what_the_agent_failed_is_solved_again_only_when_asked(bench: Bench, serve: Serve) -> None:
    url = serve(scenario="unknown-reason")
    reason = "practice_reason_of_tomorrow"
    assert bench.run(url).status == 1
    kept = bench.run(url)
    assert kept.status == 1
    assert [row["reason_code"] for row in bench.rows()] == [reason, reason]
    assert "--retry" in bench.rows()[-1]["details"]["why"]
    assert len(bench.tasks()) == 1
    assert bench.run(url, "--retry", reason).status == 1
    assert len(bench.tasks()) == 2


def test_the_same_trouble_again_and_again_stops_the_run(bench: Bench, serve: Serve) -> None:
    bench.chosen = [IID, "practice__runlength.0000002", "practice__colstat.0000003"]
    done = bench.run(serve(scenario="infra"), "--workers", "2", "--eval")
    assert done.status == 7
    extra = done.manifest["extra"]
    assert (extra["outcome"], extra["official_eval_status"]) == ("stopped_systemic", "not_run")
    assert {row["reason_code"] for row in bench.rows()} == {"provider_unavailable"}
    assert not (bench.root / "grade_summary.json").exists()


def test_another_server_behind_the_address_stops_the_run(bench: Bench, checkout: Path) -> None:
    bench.chosen = [IID, "practice__runlength.0000002"]
    admitted = StandIn(StandInConfig(repo_dir=checkout, data_dir=bench.data, solve_delay_sec=60))
    url = admitted.start()
    process = bench.start(url, "--workers", "1")
    until(bench.tasks)
    until(lambda: "running" in "".join(map(Path.read_text, bench.root.glob("*/ouroboros_task_checkpoint.json"))))
    admitted.stop()
    other = StandIn(
        StandInConfig(repo_dir=checkout, data_dir=bench.data, port=int(url.rpartition(":")[2]), version="6.80.0")
    )
    assert other.start() == url
    process.communicate(timeout=90)
    other.stop()
    extra = bench.manifest()["extra"]
    assert process.returncode == extra["exit_code"] == 7
    assert extra["outcome"] == "stopped_provenance"
    assert [row["reason_code"] for row in bench.rows()] == ["cancelled", "stopped_provenance"]
    assert len(bench.tasks()) == 1


def test_a_finished_solve_is_not_lost_to_packaging(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=3.0)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    in_the_way = bench.instance / "submission.tar.gz"
    in_the_way.mkdir()
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert bench.rows()[-1]["reason_code"] == "submission_failed"
    in_the_way.rmdir()
    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1
    assert bench.rows()[-1]["details"]["degraded"] is False


def test_a_submission_without_a_verdict_is_ungraded_and_not_a_zero(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    url, blobs = serve(), bench.env["PROGRAMBENCH_BLOB_DIR"]
    bench.env["PROGRAMBENCH_BLOB_DIR"] = str(tmp_path)
    done = bench.run(url, "--eval")
    assert done.status == 6
    extra = done.manifest["extra"]
    assert (extra["outcome"], extra["official_eval_status"]) == ("official_eval_error", "error")
    grade = json.loads((bench.root / "grade_summary.json").read_text())["instances"][IID]
    assert (grade["verdict"], grade["score"]) == ("ungraded", None)

    bench.env["PROGRAMBENCH_BLOB_DIR"] = blobs
    assert_solved(bench, bench.run(url, "--eval"))
    assert bench.rows()[-1]["official_eval_status"] == "pass"
    assert len(bench.tasks()) == 1


def test_a_signal_in_the_evaluation_leaves_nothing_and_a_resume_grades(bench: Bench, serve: Serve) -> None:
    url = serve()
    process = bench.start(url, "--eval")
    until((bench.root / "instance_order.json").exists)
    until(lambda: docker("ps", "-q", "--filter", EVALUATOR, "--filter", f"label=obo-bench.nonce={bench.nonce()}"))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == bench.manifest()["extra"]["exit_code"] == 143
    assert not bench.containers()

    done = bench.run(url, "--eval")
    assert_solved(bench, done)
    assert done.envelope["result"]["grades"]["pass"] == 1
    assert len(bench.tasks()) == 1


def test_that_an_invocation_never_came_to_it_does_not_cost_a_live_task(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=8.0)
    bench.start_and_kill(url)
    for reason in ("stopped_provenance", "stopped_systemic"):
        Ledger(bench.root, "other", Redactor()).append(
            Row(benchmark="programbench", instance_id=IID, status="not_attempted", reason_code=reason)
        )
    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1


def test_a_dry_run_does_not_disturb_a_live_task(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=12.0)
    bench.start_and_kill(url)
    done = bench.run(url, "--dry-run")
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "resume_config_mismatch"
    assert len(bench.containers()) == 1
    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1
