"""`obo-bench eval` ended by a signal while a real container builds or tests: nothing stays, and a resume goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled
from tests.conftest import obo
from tests.evaluation_case import PRACTICE, SOLUTIONS, left_behind, on_engine, pack, slowed, wait_until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images", "swept")]
QUICK = list(SOLUTIONS)[1]


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[None]:
    """Let a failing test leave nothing on the engine."""
    yield
    docker = shutil.which("docker") or "docker"
    remove_labelled(docker, os.environ, {"obo-bench.run": name_in(tmp_path)}, 0.0)


def name_in(tmp_path: Path) -> str:
    """Return a name for the evaluated directory that no other test run has."""
    return f"eval-{os.getpid()}-{tmp_path.name[-30:]}"


def processes_of(root: Path) -> list[str]:
    """Return the command lines of all processes that name the directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [line for line in found if str(root) in line]


@pytest.mark.parametrize(
    ("where", "sign", "number", "status"),
    [("build", "ps", signal.SIGINT, 130), ("tests", "images", signal.SIGTERM, 143)],
)
def test_a_signal_leaves_nothing_running_and_what_is_finished_stays_graded(
    tmp_path: Path, practice_env: dict[str, str], where: str, sign: str, number: signal.Signals, status: int
) -> None:
    root, temporary = tmp_path / name_in(tmp_path), tmp_path / "tmp"
    temporary.mkdir()
    pack(root, PRACTICE, slowed(SOLUTIONS[PRACTICE]("solved"), where))
    pack(root, QUICK, SOLUTIONS[QUICK]("broken-build"))
    env = {**practice_env, "TMPDIR": str(temporary)}
    argv = [sys.executable, "-m", "obo_bench", "eval", str(root), "-w", "2", "-q"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(argv, env={**os.environ, **env}, stdout=quiet, stderr=quiet, start_new_session=True)
    wait_until((root / QUICK / f"{QUICK}.eval.provenance.json").exists)
    wait_until(lambda: on_engine(sign, f"obo-bench.instance={PRACTICE}"))
    os.killpg(process.pid, number)  # as a terminal does
    assert process.wait(60) == status
    assert (left_behind(f"obo-bench.run={root.name}"), processes_of(root), list(temporary.iterdir())) == ("", [], [])
    summary = json.loads((root / "grade_summary.json").read_text(encoding="utf-8"))
    reasons = {iid: row["reason"] for iid, row in summary["instances"].items()}
    assert reasons == {PRACTICE: "evaluator_interrupted", QUICK: "compile_failed"}
    manifest = json.loads((root / "eval" / "run_manifest.json").read_text(encoding="utf-8"))
    assert (manifest["extra"]["outcome"], manifest["extra"]["exit_code"]) == ("interrupted", status)

    resumed = obo("eval", root, "--instance-limit-sec", "2", "--json", env=env)
    assert (resumed.status, resumed.envelope["result"]["ungraded_submissions"]) == (6, [PRACTICE])
    assert resumed.manifest["extra"]["skipped_count"] == 1
    assert left_behind(f"obo-bench.run={root.name}") == ""
