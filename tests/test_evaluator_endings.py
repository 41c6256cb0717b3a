"""Evaluations that end on the way: as processes, with stand-in evaluators and on a real engine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from obo_bench.programbench.evaluation.eval_files import eval_json_path
from obo_bench.programbench.evaluation.verdicts import Verdict
from tests.evaluation_case import (
    INSTANCE,
    LABELS,
    OTHER,
    PRACTICE,
    REPOSITORY,
    SOLUTIONS,
    alive,
    evaluate,
    left_behind,
    on_engine,
    pack,
    passing,
    slowed,
    stand_in,
    sweep,
    wait_until,
)

DRIVER = """
import os, signal, sys
from pathlib import Path
from obo_bench.core.reporter import PlainReporter
from obo_bench.programbench.evaluation.evaluator import EvaluationRequest, evaluate_submissions

def end(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, end)
submissions = dict(pair.split("=") for pair in sys.argv[3:])
evaluate_submissions(EvaluationRequest(
    run_root=Path(sys.argv[1]), requested_ids=tuple(submissions), submissions=submissions,
    docker_cpus=min(2, os.cpu_count()), timeout_sec=240.0, environ=dict(os.environ), workers=2,
    labels={"obo-bench.run": sys.argv[2], "obo-bench.role": "evaluator"}, invocation="inv-1",
), PlainReporter())
"""


def start_driver(run_root: Path, shas: Mapping[str, str], environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([*filter(None, [environ.get("PYTHONPATH")]), str(REPOSITORY)])
    argv = [
        sys.executable,
        "-c",
        DRIVER,
        str(run_root),
        LABELS["obo-bench.run"],
        *(f"{i}={s}" for i, s in shas.items()),
    ]
    quiet = subprocess.DEVNULL
    # A killed process leaves its temporary files.
    own = {"PYTHONPATH": path, "TMPDIR": str(run_root.parent)}
    return subprocess.Popen(argv, env={**environ, **own}, stdout=quiet, stderr=quiet)


@pytest.fixture
def run_root(tmp_path: Path) -> Path:
    root = tmp_path / "run"
    root.mkdir()
    return root


@pytest.mark.parametrize("through", ["the package", "a command line"])
def test_a_killed_run_leaves_no_evaluator_behind(run_root: Path, tmp_path: Path, through: str) -> None:
    shas = {INSTANCE: pack(run_root, INSTANCE, {})}
    hang = f"echo $PPID $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pids; sleep 100"
    evaluator = hang if through == "a command line" else ""
    driver = start_driver(run_root, shas, stand_in(tmp_path, f'case "$1" in run) {hang} ;; esac', evaluator))
    wait_until((tmp_path / "pids").exists)
    driver.kill()
    driver.wait(10)
    pids = [int(word) for word in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    wait_until(lambda: not any(alive(pid) for pid in pids), 10.0)


def test_an_interrupt_keeps_what_is_finished_and_a_resume_evaluates_the_rest(run_root: Path, tmp_path: Path) -> None:
    shas = {iid: pack(run_root, iid, {}) for iid in (INSTANCE, OTHER)}
    false_failure = f"cp {tmp_path}/false {eval_json_path(run_root, OTHER)}; touch {tmp_path}/at-work; sleep 100"
    (tmp_path / "false").write_text('{"error_code": "copy_executable_failed"}', encoding="utf-8")
    environ = stand_in(tmp_path, evaluator=passing(run_root, others=false_failure))
    driver = start_driver(run_root, shas, environ)
    proof = run_root / INSTANCE / f"{INSTANCE}.eval.provenance.json"
    wait_until(lambda: proof.exists() and (tmp_path / "at-work").exists())
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(60) != 0
    summary = json.loads((run_root / "grade_summary.json").read_text(encoding="utf-8"))
    assert summary["evaluation_status"] == "interrupted"
    reasons = {iid: row["reason"] for iid, row in summary["instances"].items()}
    assert reasons == {INSTANCE: "all_tests_passed", OTHER: "evaluator_interrupted"}
    assert (run_root / "eval" / "stale" / "inv-1" / f"{OTHER}.eval.json").exists()
    assert not eval_json_path(run_root, OTHER).exists()

    environ = stand_in(tmp_path, evaluator=passing(run_root, others="exit 0"))
    outcome = evaluate(run_root, environ, requested_ids=tuple(shas), submissions=shas, invocation="inv-2")
    assert outcome.evaluated == (OTHER,)
    assert outcome.summary.instances[INSTANCE].verdict is Verdict.PASS
    assert [row.attempts for row in outcome.summary.instances.values()] == [1, 2]


@pytest.fixture
def swept() -> Iterator[None]:
    yield
    sweep()


@pytest.mark.docker
@pytest.mark.usefixtures("swept", "practice_images")
def test_what_a_killed_evaluation_has_left_is_swept_by_the_next_one(
    run_root: Path, practice_env: dict[str, str]
) -> None:
    shas = {PRACTICE: pack(run_root, PRACTICE, slowed(SOLUTIONS[PRACTICE]("solved"), "build"))}
    environ = {**os.environ, **practice_env}
    driver = start_driver(run_root, shas, environ)
    wait_until(lambda: on_engine("ps", f"obo-bench.run={LABELS['obo-bench.run']}"))
    driver.kill()
    driver.wait(10)
    assert left_behind(), "a killed process cannot remove its container"
    shas[PRACTICE] = pack(run_root, PRACTICE, SOLUTIONS[PRACTICE]("broken-build"))
    outcome = evaluate(run_root, environ, requested_ids=(PRACTICE,), submissions=shas)
    assert outcome.summary.instances[PRACTICE].reason == "compile_failed"
    assert left_behind() == ""


@pytest.mark.docker
@pytest.mark.usefixtures("swept", "practice_images")
def test_a_container_killed_from_outside_gives_no_verdict(run_root: Path, practice_env: dict[str, str]) -> None:
    shas = {PRACTICE: pack(run_root, PRACTICE, slowed(SOLUTIONS[PRACTICE]("solved"), "build"))}
    driver = start_driver(run_root, shas, {**os.environ, **practice_env})
    label = f"obo-bench.run={LABELS['obo-bench.run']}"
    wait_until(lambda: on_engine("ps", label) and b"sleep 600" in container_processes(on_engine("ps", label)))
    subprocess.run(["docker", "kill", on_engine("ps", label)], capture_output=True, check=True, timeout=30)
    assert driver.wait(60) == 0
    summary = json.loads((run_root / "grade_summary.json").read_text(encoding="utf-8"))
    assert summary["instances"][PRACTICE]["reason"] == "evaluator_container_lost"


def container_processes(container: str) -> bytes:
    return subprocess.run(["docker", "top", container], capture_output=True, check=False, timeout=30).stdout
