"""`programbench cancel` on real Docker and a real stand-in server."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import Done, obo
from tests.test_run import IID, Bench, Serve, assert_solved, bench, docker, until

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

REASON = "cancelled_by_operator"


def cancel(run: str | Path, *more: str) -> Done:
    return obo("programbench", "cancel", run, "--json", *more)


def detach(bench: Bench, url: str) -> str:
    """Leave a run with its task at work, as Ctrl-C does; gives the task's id."""
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    return str(bench.checkpoint()["task_id"])


def task(url: str, task_id: str) -> dict[str, Any]:
    answer = httpx.get(f"{url}/api/tasks/{task_id}", trust_env=False).json()
    assert isinstance(answer, dict)
    return answer


def crashed_data(bench: Bench, task_id: str) -> Path:
    """The data of a server that was killed while the task waited."""
    name = Path("task_results") / f"{task_id}.json"
    record = json.loads((bench.data / name).read_text())
    crashed = bench.data.with_name("crashed")
    (crashed / name).parent.mkdir(parents=True)
    (crashed / name).write_text(json.dumps(record | {"status": "scheduled"}))
    return crashed


def results(done: Done) -> list[str]:
    return [instance["result"] for instance in done.envelope["result"]["instances"]]


def test_a_detached_task_is_cancelled_and_not_solved_again_without_retry(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    done = cancel(bench.root)
    assert done.status == 0, done.stderr
    assert results(done) == ["cancelled"]
    assert task(url, task_id)["status"] == "cancelled"
    assert not bench.containers()
    assert not bench.volumes()
    row = bench.rows()[-1]
    assert bench.rows(bench.instance)[-1] == row
    assert (row["status"], row["reason_code"], row["attempt"]) == ("failed", REASON, 1)
    assert row["details"]["infrastructure"] is False
    assert row["cost"]["source"] == "record_snapshot"
    assert bench.checkpoint()["status"] == "cancelled"
    assert json.loads((bench.instance / "ouroboros_task_result.json").read_text())["status"] == "cancelled"

    kept = bench.run(url)
    assert kept.status == 1
    assert bench.rows()[-1]["reason_code"] == REASON
    assert bench.tasks() == [task_id]

    assert_solved(bench, bench.run(serve(data_dir=bench.data), "--retry", REASON))
    assert len(bench.tasks()) == 2
    assert bench.rows()[-1]["attempt"] == 2


def test_a_second_cancel_finds_nothing_to_do(bench: Bench, serve: Serve) -> None:
    detach(bench, serve(solve_delay_sec=60.0))
    assert cancel(bench.root).status == 0
    before = bench.rows()
    again = cancel(bench.root, "--ouroboros-url", "http://127.0.0.1:1")
    assert (again.status, results(again)) == (0, ["settled"])
    assert bench.rows() == before


def test_the_run_of_a_living_process_is_refused_and_named(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=6.0)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    owner = (bench.root / ".run.owner.json").read_bytes()
    done = cancel(bench.root)
    assert done.status == 5
    refusal = done.envelope["refusal"]
    assert refusal["reason"] == "run_locked"
    assert str(process.pid) in refusal["message"]
    assert f"kill -INT {process.pid}" in refusal["remedy"]
    assert (bench.root / ".run.owner.json").read_bytes() == owner
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(bench.tasks()) == 1


def test_what_has_finished_meanwhile_is_kept_for_packaging(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=4.0)
    bench.start_and_kill(url)
    until(lambda: task(url, bench.checkpoint()["task_id"])["status"] == "completed")
    done = cancel(bench.root)
    assert (done.status, results(done)) == (0, ["completed"])
    assert "to package it" in done.stderr
    assert len(bench.containers()) == 1
    assert not (bench.root / "result_index.jsonl").exists()

    packaged = bench.run(url)
    assert_solved(bench, packaged)
    assert "died without an ending" in packaged.stderr
    assert bench.rows()[-1]["details"]["degraded"] is False
    assert len(bench.tasks()) == 1


def test_a_server_that_cannot_be_asked_changes_nothing(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    before, checkpoint = bench.rows(), bench.checkpoint()
    done = cancel(bench.root, "--ouroboros-url", "http://127.0.0.1:1")
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "gateway_not_ready"
    assert "nothing is claimed" in done.envelope["refusal"]["message"]
    assert (bench.rows(), bench.checkpoint()) == (before, checkpoint)
    assert len(bench.containers()) == 1
    assert task(url, task_id)["status"] == "running"
    assert cancel(bench.root).status == 0


def test_a_waiting_task_that_a_crash_of_the_server_lost_is_over(bench: Bench, serve: Serve) -> None:
    """The record says `scheduled` for ever, no queue holds the task, its cancellation is answered with 404."""
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    done = cancel(bench.root, "--ouroboros-url", serve(data_dir=crashed_data(bench, task_id)))
    assert (done.status, results(done)) == (0, ["lost"])
    assert bench.rows()[-1]["reason_code"] == REASON
    assert not bench.containers()


def test_an_intent_that_never_arrived_is_cancelled_too(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    process = bench.start(serve(answer_delay_sec=5.0))
    until(bench.tasks)
    process.kill()
    process.communicate()
    assert bench.checkpoint()["status"] == "intent"
    forgetful = serve(data_dir=tmp_path / "workspace" / "forgetful")
    done = cancel(bench.root, "--ouroboros-url", forgetful)
    assert (done.status, results(done)) == (0, ["unknown_to_the_server"])
    assert not bench.containers()
    assert bench.run(forgetful).status == 1
    assert bench.rows()[-1]["reason_code"] == REASON


def test_that_another_server_does_not_know_the_task_proves_nothing(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    url = serve(solve_delay_sec=60.0)
    detach(bench, url)
    before = bench.rows()
    other = serve(data_dir=tmp_path / "workspace" / "other", version="6.80.0")
    done = cancel(bench.root, "--ouroboros-url", other)
    assert (done.status, results(done)) == (1, ["not_cancelled"])
    assert "may still run and spend" in done.stderr
    assert bench.rows() == before
    assert len(bench.containers()) == 1
    assert cancel(bench.root).status == 0


def test_without_an_engine_the_task_is_cancelled_all_the_same(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    done = obo("programbench", "cancel", bench.root, env={"DOCKER_HOST": "unix:///nowhere/docker.sock"})
    assert done.status == 1
    assert "its container is left" in done.stderr
    assert task(url, task_id)["status"] == "cancelled"
    assert bench.rows()[-1]["reason_code"] == REASON
    assert len(bench.containers()) == 1
    assert obo("programbench", "gc", bench.root, "--force").status == 0
    assert not bench.containers()


def test_an_instance_without_a_task_is_refused_by_name(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    done = cancel(bench.root, "--instance-id", IID[:-1])
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "unknown_instance"
    assert IID in done.envelope["refusal"]["message"]
    assert task(url, task_id)["status"] == "running"
    assert results(cancel(bench.root, "--instance-id", IID)) == ["cancelled"]


def test_a_copy_of_a_run_does_not_cancel_the_tasks_of_the_original(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    shutil.copytree(bench.root, tmp_path / "copy", symlinks=True)
    done = cancel(tmp_path / "copy")
    assert done.status == 5
    assert str(bench.root) in done.envelope["refusal"]["remedy"]
    assert task(url, task_id)["status"] == "running"
    assert cancel(bench.root).status == 0


def test_a_command_that_survived_the_cancel_ends_with_its_container(bench: Bench, serve: Serve) -> None:
    url = serve(scenario="long-command")
    detach(bench, url)
    [room] = bench.containers()
    until(lambda: "sleep 300" in docker("top", room))
    assert cancel(bench.root).status == 0
    assert not bench.containers()


@pytest.mark.parametrize(("asked", "result", "rows"), [(True, "cancelled", 1), (False, "over", 0)])
def test_only_a_cancellation_that_an_operator_asked_for_is_recorded_as_one(
    bench: Bench, serve: Serve, asked: bool, result: str, rows: int
) -> None:
    """As after a kill of `cancel` between the server's answer and the row, or after somebody else ended the task."""
    url = serve(solve_delay_sec=60.0)
    bench.start_and_kill(url)
    checkpoint = bench.checkpoint()
    assert httpx.post(f"{url}/api/tasks/{checkpoint['task_id']}/cancel", trust_env=False).status_code == 200
    path = bench.instance / "ouroboros_task_checkpoint.json"
    path.write_text(json.dumps(checkpoint | ({"cancel_asked": True} if asked else {})))
    done = cancel(bench.root)
    assert (done.status, results(done)) == (0, [result])
    written = bench.rows() if (bench.root / "result_index.jsonl").exists() else []
    assert [row["reason_code"] for row in written] == [REASON] * rows
