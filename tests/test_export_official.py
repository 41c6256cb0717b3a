"""An export as the official evaluator sees it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.practice.tasks import task_by_id
from tests.conftest import obo
from tests.solved_run import run_session, solve

PRACTICE = "practice__wordtally.0000001"


@pytest.mark.docker
def test_the_official_evaluator_grades_an_export_as_it_stands(
    tmp_path: Path, practice_images: None, practice_env: dict[str, str]
) -> None:
    task = task_by_id(PRACTICE)
    assert task is not None
    with run_session(tmp_path / "run", [PRACTICE]) as session:
        solve(session, PRACTICE, task.solution("solved"))
    out = tmp_path / "out"
    done = obo("export", "--source", tmp_path / "run", "--dest", out, env=practice_env)
    assert done.status == 0, done.stderr
    command = [str(Path(sys.executable).with_name("programbench")), "eval", str(out)]
    environment = {**os.environ, **practice_env, "PROGRAMBENCH_DOCKER_CPUS": "2"}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=240)
    result = json.loads((out / PRACTICE / f"{PRACTICE}.eval.json").read_text())
    assert result["error_code"] is None
    assert {test["status"] for test in result["test_results"]} == {"passed"}
    again = obo("export", "--source", tmp_path / "run", "--dest", out, "--json", env=practice_env)
    assert (again.status, again.envelope["result"]["totals"]["skipped"]) == (0, 1)
    assert (out / PRACTICE / f"{PRACTICE}.eval.json").exists(), "the result of the same archive stays"
