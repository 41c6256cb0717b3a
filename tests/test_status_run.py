"""`status` beside real runs on real Docker: at work, killed, resumed; what was foretold is what the resume does."""

import json

import pytest

from tests.conftest import Done, obo
from tests.test_run import IID, Bench, Serve, assert_solved, bench, until

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


def status(bench: Bench, *more: str) -> Done:
    return obo("programbench", "status", "--runs-root", bench.runs, "--json", *more, env=bench.env)


def test_a_run_at_work_killed_and_resumed_is_seen_as_what_it_is(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=12)
    process = bench.start(url)
    until(lambda: bench.checkpoint().get("status") == "running")
    at_work = status(bench).envelope["result"]
    process.kill()
    process.communicate()
    rows = (bench.root / "result_index.jsonl").exists()
    killed = status(bench).envelope["result"]
    foretold = killed["instances"][0]["next_step"]
    assert (at_work["process"]["state"], at_work["process"]["pid"]) == ("alive", process.pid)
    (instance,) = at_work["instances"]
    assert (instance["state"], instance["task_status"]) == ("solving", "running")
    assert instance["container"]["state"] == "running"
    assert (at_work["server"]["reachable"], at_work["server"]["same"], at_work["server"]["running"]) == (True, True, 1)
    assert (killed["outcome"], killed["totals"]) == ("killed", {"left": 1})
    assert (foretold["step"], foretold["attempt"]) == ("attach", 1)
    assert killed["instances"][0]["container"]["state"] == "running"
    assert not rows
    assert bench.checkpoint()["status"] == "running"
    done = bench.run(url)
    assert_solved(bench, done)
    assert len(bench.tasks()) == 1
    over = status(bench).envelope["result"]
    assert (over["outcome"], over["exit_code"], over["totals"]) == ("completed", 0, {"completed": 1})
    assert over["resume"]["steps"] == {"skip": 1}
    listed = json.loads(obo("runs", "--runs-root", bench.runs, "--json").stdout)["result"]["runs"]
    assert [(run["run_id"], run["outcome"], run["completed"], run["passed"]) for run in listed] == [
        ("r", "completed", 1, None)
    ]
    assert over["instances"][0]["instance_id"] == IID
