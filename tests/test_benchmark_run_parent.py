"""The variables of `exec` are believed only where the run that they name goes on, and is the one that is meant."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.lock import OWNER_NAME
from obo_bench.core.manifest import RunManifest
from obo_bench.launch.contract import variables
from tests.launcher_case import Launched, World, document, finish, lines, start, wrapping

PARENT = """
import sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[2]]
from tests.launcher_case import wrapping
import json
with wrapping(Path(sys.argv[1])) as world:
    print(json.dumps(world.variables), flush=True)
    time.sleep(60)
"""
TESTS = str(Path(__file__).parent.parent)


def refused_alone(done: Launched, own: Path, why: str) -> None:
    """The refusal is on record in the launcher's own place, and what the variables name is left alone."""
    assert done.status == 5, done.stderr
    assert "refused (preflight: launcher_contract_stale)" in done.stderr
    extra = document(own / "run_manifest.json")["extra"]
    assert (extra["outcome"], extra["exit_code"]) == ("refused", 5)
    assert extra["refusal"]["reason"] == "launcher_contract_stale"
    assert why in extra["refusal"]["evidence"]["why"]
    assert "unset OBO_BENCH_MANIFEST" in extra["refusal"]["remedy"]


def launch_in(tmp_path: Path, env: dict[str, str], how: str = "run.record('a')") -> Launched:
    return finish(start(how, {"run_root": tmp_path / "own"}, env), tmp_path / "own")


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_run_that_ended_is_not_written_to(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run") as world:
        pass
    before = files(tmp_path / "run")
    refused_alone(launch_in(tmp_path, world.variables), tmp_path / "own", "no process works on that run any more")
    assert files(tmp_path / "run") == before


def test_a_run_that_was_killed_is_not_written_to(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", PARENT, str(tmp_path / "run"), TESTS]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        named = json.loads(parent.stdout.readline())
        assert launch_in(tmp_path / "first", named).status == 0
        assert (tmp_path / "run" / "child" / "outcome.json").exists()
        parent.kill()
    (tmp_path / "run" / "child" / "outcome.json").unlink()
    assert document(tmp_path / "run" / "run_manifest.json")["extra"]["outcome"] == "started"
    refused_alone(launch_in(tmp_path, named), tmp_path / "own", "no process works on that run any more")
    assert not (tmp_path / "run" / "child" / "outcome.json").exists()


def test_a_later_invocation_on_the_same_run_is_another(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run") as first:
        pass
    with wrapping(tmp_path / "run") as second:
        done = launch_in(tmp_path, first.variables)
        refused_alone(
            done, tmp_path / "own", f"another invocation works on that run by now: '{second.session.invocation}'"
        )


@pytest.mark.parametrize(
    "missing", [variables.MANIFEST, variables.LEDGER, variables.OUTCOME_FILE, variables.INVOCATION]
)
def test_half_of_the_variables_are_none(tmp_path: Path, missing: str) -> None:
    with wrapping(tmp_path / "run") as world:
        named = {name: value for name, value in world.variables.items() if name != missing}
        refused_alone(launch_in(tmp_path, named), tmp_path / "own", f"{missing} is not set with them")


@pytest.mark.parametrize("moved", [variables.MANIFEST, variables.LEDGER, variables.OUTCOME_FILE])
def test_variables_of_different_runs_do_not_go_together(tmp_path: Path, moved: str) -> None:
    with wrapping(tmp_path / "run") as world:
        named = {**world.variables, moved: str(tmp_path / "elsewhere")}
        refused_alone(launch_in(tmp_path, named), tmp_path / "own", f"{moved} does not lie where it must")


@pytest.mark.parametrize("damage", ["missing", "torn", "no file", "no manifest"])
def test_a_manifest_that_cannot_be_read_is_none(tmp_path: Path, damage: str) -> None:
    with wrapping(tmp_path / "run") as world:
        manifest = tmp_path / "run" / "run_manifest.json"
        whole = manifest.read_bytes()
        manifest.unlink()
        if damage == "torn":
            manifest.write_bytes(whole[:100])
        if damage == "no file":
            os.mkfifo(manifest)
        if damage == "no manifest":
            manifest.write_text("[]")
        refused_alone(launch_in(tmp_path, world.variables), tmp_path / "own", "run_manifest.json")
        manifest.unlink(missing_ok=True)


@pytest.mark.parametrize("deed", ["run.record('b')", "pass", "1 / 0", "sys.exit(3)"])
def test_an_exec_that_dies_while_its_launcher_works_is_noticed(tmp_path: Path, deed: str) -> None:
    """What nobody records must not go on: the next row is refused, and the end is no success."""
    argv = [sys.executable, "-c", PARENT, str(tmp_path / "run"), TESTS]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        named = json.loads(parent.stdout.readline())
        wait = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
        how = f"run.record('a'); print('here', flush=True)\n{wait}\n{deed}"
        process = start(how, {}, named)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        (tmp_path / "go").touch()
        done = finish(process, tmp_path / "run")
    assert done.status == 5, done.stderr
    assert "launcher_contract_stale" in done.stderr
    assert len(lines(tmp_path / "run" / "child" / "ledger.jsonl")) == 1
    assert not (tmp_path / "run" / "child" / "outcome.json").exists()


def test_an_outcome_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run") as world:
        how = "run.record('a'); (run.run_root / 'child' / 'outcome.json').mkdir()"
        done = world.launch(how)
        assert done.status == 5
        assert "run_root_unwritable" in done.stderr
        interrupted = world.launch("os.kill(os.getpid(), 15); time.sleep(9)")
        assert interrupted.status == 143


def refused_by(world: World, told: str, **arguments: Any) -> None:
    done = world.launch("run.record('a')", **arguments)
    assert done.status == 5, done.stderr
    assert (done.outcome["outcome"], done.outcome["refusal_reason"]) == ("refused", "launcher_contradicts_run")
    assert told in done.outcome["message"]
    assert not (done.run_root / "child" / "ledger.jsonl").exists()


def test_a_launcher_that_means_another_run_is_refused(
    tmp_path: Path, checkout: Path, serve: Callable[..., str]
) -> None:
    other, url = tmp_path / "other", serve()
    other.mkdir()
    with wrapping(tmp_path / "b", benchmark="swe-bench") as world:
        refused_by(world, "the launcher asks for the benchmark 'gaia', the run was admitted with 'swe-bench'")
        refused_by(world, f"asks for the checkout '{checkout}', the run was admitted with none", repo_dir=checkout)
    with wrapping(tmp_path / "c", repo_dir=checkout) as world:
        refused_by(world, f"asks for the checkout '{other}', the run was admitted with '{checkout}'", repo_dir=other)
        refused_by(world, "asks for the model 'x', the run was admitted with none", repo_dir=checkout, solve_model="x")
        told = f"asks for the server '{url}', the run was admitted with none"
        refused_by(world, told, repo_dir=checkout, ouroboros_url=url)
        same = world.launch("run.record('a')", repo_dir=checkout.parent / "." / checkout.name)
        assert same.status == 0, same.stderr


def test_tasks_that_the_run_was_not_admitted_with_are_refused_before_any_row(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run", fields={"requested_task_ids": ["t1", "t4"], "requested_count": 2}) as world:
        told = f"tasks that the run '{tmp_path / 'run'}' was not admitted with: 't2', 't3'"
        refused_by(world, told, requested_task_ids=["t1", "t2", "t3"])
        done = world.launch("run.request(['t1', 't2', 't3']); run.record('t2')")
        assert (done.status, done.outcome["refusal_reason"]) == (5, "launcher_contradicts_run")
        assert told in done.outcome["message"]
        assert "Traceback" not in done.stderr
        assert "--task-id" in done.stderr
        assert done.outcome["not_attempted_count"] == 2  # as exec counts
        assert world.launch("run.request(['t4']); run.record('t4')").status == 0


def test_a_launcher_that_demands_more_than_was_checked_is_refused(tmp_path: Path, checkout: Path) -> None:
    program = """
import os, sys
from obo_bench import SeedDemands, benchmark_run, run_main
def main():
    with benchmark_run("gaia", repo_dir=sys.argv[1], seed=SeedDemands(**eval(sys.argv[2]))) as run:
        run.record("a")
run_main(main)
"""
    demands = {
        "expect": "0" * 40,
        "seed_commit": "0" * 40,
        "require_stamp": True,
    }
    with wrapping(tmp_path / "run", repo_dir=checkout) as world:
        for name, value in demands.items():
            argv = [sys.executable, "-c", program, str(checkout), str({name: value})]
            env = {**os.environ, **world.variables}
            done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=60, check=False)
            assert (done.returncode, "launcher_contradicts_run" in done.stderr) == (5, True), name
            assert f"--{name.replace('_', '-')}" in done.stderr
        argv[-1] = str({"require_git_directory": True})
        assert subprocess.run(argv, capture_output=True, env=env, timeout=60, check=False).returncode == 0


def test_the_attested_server_may_be_named_again(tmp_path: Path, checkout: Path) -> None:
    with wrapping(tmp_path / "run", repo_dir=checkout) as world:
        manifest: RunManifest = world.session.manifest
        manifest.extra.runtime_attestation = {"base_url": "http://127.0.0.1:8770", "expected_version": "6.75.0"}
        world.session.checkpoint()
        same = {"repo_dir": checkout, "ouroboros_url": "http://127.0.0.1:8770/"}
        assert world.launch("run.record('a')", **same, expected_version="6.75.0").status == 0
        (tmp_path / "run" / "child" / "ledger.jsonl").unlink()
        told = "asks for a server of version '6.1.0', the run was admitted with '6.75.0'"
        refused_by(world, told, **same, expected_version="6.1.0")
        refused_by(world, "the server 'http://127.0.0.1:1'", repo_dir=checkout, ouroboros_url="http://127.0.0.1:1")


def test_no_second_manifest_and_no_lock_is_made(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run") as world:
        owner = (tmp_path / "run" / OWNER_NAME).read_bytes()
        done = finish(start("run.record('a')", {"run_root": tmp_path / "own"}, world.variables), tmp_path / "run")
        assert done.status == 0
        assert not (tmp_path / "own").exists()
        assert (tmp_path / "run" / OWNER_NAME).read_bytes() == owner
