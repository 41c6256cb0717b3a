"""`programbench gc` on real Docker and a real stand-in server.

Its `--force` is only ever used on a named run here: the engine may be shared with other runs of this suite.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from obo_bench.practice.standin import StandIn, StandInConfig
from tests.conftest import Done, obo
from tests.test_cancel import cancel, detach, task
from tests.test_run import Bench, Serve, assert_solved, bench, docker, until

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


def gc(*arguments: str | Path) -> Done:
    return obo("programbench", "gc", *arguments, "--json")


def found(done: Done) -> list[tuple[str, str, str]]:
    """What gc says of each object: action, kind, reason."""
    return [(one["action"], one["kind"], one["reason"]) for one in done.envelope["result"]["found"]]


def actions(done: Done) -> set[str]:
    return {action for action, _, _ in found(done)}


@pytest.fixture
def second(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    """Another run of the same instance, on the same server."""
    made = Bench(checkout, tmp_path / "second", dict(practice_env))
    yield made
    made.sweep()


@pytest.fixture
def foreign() -> Iterator[str]:
    """A container of somebody else, with a name and a label that look like ours."""
    image = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
    made = docker("create", "--label", "obo-bench.run=r", "--name", "obo-0badcafe-somebody-else-1", image, "true")
    yield made
    docker("rm", "-f", made)


def end_at_the_server(url: str, task_id: str) -> None:
    assert httpx.post(f"{url}/api/tasks/{task_id}/cancel", trust_env=False).status_code == 200


def exists(container: str) -> bool:
    return container[:12] in docker("ps", "-aq")


def test_live_paid_work_is_kept_until_it_is_over(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    kept = gc(bench.root, "--force")
    assert kept.status == 0
    assert {(action, reason) for action, _, reason in found(kept)} == {("kept", f"task {task_id} is running at {url}")}
    assert (len(bench.containers()), len(bench.volumes())) == (1, 1)
    assert task(url, task_id)["status"] == "running"

    rows = bench.rows()
    end_at_the_server(url, task_id)
    shown = gc(bench.root)
    assert actions(shown) == {"orphan"}
    assert "--force removes without asking" in shown.stderr
    assert len(bench.containers()) == 1

    removed = gc(bench.root, "--force")
    assert (removed.status, actions(removed)) == (0, {"removed"})
    assert not bench.containers()
    assert not bench.volumes()
    assert bench.rows() == rows


def test_a_task_that_its_server_has_forgotten_needs_no_container(bench: Bench, checkout: Path, tmp_path: Path) -> None:
    first = StandIn(StandInConfig(repo_dir=checkout, data_dir=bench.data, solve_delay_sec=60.0))
    url = first.start()
    detach(bench, url)
    first.stop()
    silent = gc(bench.root, "--force")
    assert actions(silent) == {"kept"}
    assert "is unknown" in found(silent)[0][2]

    port = int(url.rpartition(":")[2])
    other = tmp_path / "workspace" / "other"
    skewed = StandIn(StandInConfig(repo_dir=checkout, data_dir=other, port=port, version="6.80.0"))
    assert skewed.start() == url
    assert actions(gc(bench.root, "--force")) == {"kept"}
    skewed.stop()

    forgetful = StandIn(StandInConfig(repo_dir=checkout, data_dir=other, port=port))
    assert forgetful.start() == url
    removed = gc(bench.root, "--force")
    assert actions(removed) == {"removed"}
    assert "does not know task" in found(removed)[0][2]
    assert not bench.containers()
    assert bench.run(url).status == 1
    assert bench.rows()[-1]["reason_code"] == "task_unknown_to_server"
    assert_solved(bench, bench.run(url, "--retry", "task_unknown_to_server"))
    forgetful.stop()


def test_what_a_living_process_works_with_is_kept(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(solve_delay_sec=6.0))
    until(lambda: bench.checkpoint().get("status") == "running")
    done = gc(bench.root, "--force")
    assert actions(done) == {"kept"}
    assert f"process {process.pid} on" in found(done)[0][2]
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(bench.tasks()) == 1


def test_of_two_runs_only_the_one_killed_before_its_submission_leaves_an_orphan(
    bench: Bench, second: Bench, serve: Serve, foreign: str
) -> None:
    url = serve(solve_delay_sec=60.0, workers=1)
    task_id = detach(bench, url)
    process = second.start(url)
    until((second.root / "instance_order.json").exists)
    until((second.instance / "ouroboros_task_body.json").exists)
    process.kill()
    process.communicate()
    assert not second.checkpoint()
    assert len(second.containers()) == 1

    everything = gc()
    mine = {
        (one["run_root"], one["action"])
        for one in everything.envelope["result"]["found"]
        if one["run_root"] in (str(bench.root), str(second.root))
    }
    assert mine == {(str(bench.root), "kept"), (str(second.root), "orphan")}
    assert "somebody-else" not in everything.stdout + everything.stderr

    removed = gc(second.root, "--force")
    assert actions(removed) == {"removed"}
    assert {reason for _, _, reason in found(removed)} == {"no task was submitted for it"}
    assert not second.containers()
    assert not second.volumes()
    assert len(bench.containers()) == 1
    assert exists(foreign)
    assert task(url, task_id)["status"] == "running"
    assert cancel(bench.root).status == 0
    assert exists(foreign)


def test_finished_work_is_kept_until_it_is_packaged(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=4.0)
    bench.start_and_kill(url)
    until(lambda: task(url, bench.checkpoint()["task_id"])["status"] == "completed")
    done = gc(bench.root, "--force")
    assert actions(done) == {"kept"}
    assert "not packaged: resume the run" in found(done)[0][2]
    assert_solved(bench, bench.run(url))


def test_what_a_dead_evaluation_left_is_removed(bench: Bench, serve: Serve) -> None:
    process = bench.start(serve(), "--eval")
    until((bench.root / "instance_order.json").exists)
    label = f"label=obo-bench.nonce={bench.nonce()}"
    until(lambda: docker("ps", "-q", "--filter", "label=obo-bench.role=evaluator", "--filter", label))
    evaluator = json.loads(docker("inspect", bench.containers()[0]))[0]
    process.kill()
    process.communicate()
    assert evaluator["Config"]["Labels"]["obo-bench.role"] == "evaluator"

    def nothing_is_left() -> bool:
        # The evaluator outlives the process that started it for a moment, and may still make something.
        gc(bench.root, "--force")
        return not bench.containers() and not docker("images", "-q", "--filter", label)

    until(nothing_is_left)


def test_the_copy_of_a_run_is_no_reason_to_remove_the_containers_of_the_original(
    bench: Bench, serve: Serve, tmp_path: Path
) -> None:
    process = bench.start(serve(solve_delay_sec=8.0))
    until(lambda: bench.checkpoint().get("status") == "running")
    copy = tmp_path / "copy"
    shutil.copytree(bench.root, copy, symlinks=True)
    (copy / "run_manifest.json").write_text("{}")
    done = gc(copy, "--force")
    assert "several run roots claim it" in found(done)[0][2]
    assert actions(done) == {"kept"}
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(("typed", "left"), [(b"n\n", 1), (b"y\n", 0)])
def test_a_terminal_is_asked(bench: Bench, serve: Serve, typed: bytes, left: int) -> None:
    url = serve(solve_delay_sec=60.0)
    task_id = detach(bench, url)
    end_at_the_server(url, task_id)
    terminal, stdin = pty.openpty()
    try:
        os.write(terminal, typed)
        command = [sys.executable, "-m", "obo_bench", "programbench", "gc", str(bench.root)]
        done = subprocess.run(command, stdin=stdin, capture_output=True, check=False, timeout=60)
    finally:
        os.close(terminal)
        os.close(stdin)
    assert done.returncode == 0
    assert b"Remove the 2 orphan(s)?" in done.stderr
    assert len(bench.containers()) == left
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("arguments", [("--force", "--dry-run"), ("--ouroboros-url", "http://127.0.0.1:1")])
def test_flags_that_contradict_are_usage_errors(arguments: tuple[str, ...]) -> None:
    done = gc(*arguments)
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error")
