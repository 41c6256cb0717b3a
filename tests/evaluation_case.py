"""What the tests of the evaluation share: archives, stand-in clients and evaluators, and what is left on the engine."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from obo_bench.core.files import sha256_file
from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.tasks import PRACTICE_TASKS
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled
from obo_bench.programbench.evaluation.eval_files import eval_json_path
from obo_bench.programbench.evaluation.evaluation_request import EvaluationOutcome, EvaluationRequest
from obo_bench.programbench.evaluation.evaluator import evaluate_submissions
from obo_bench.programbench.evaluation.verdicts import Verdict

DATA = Path(__file__).parent / "data" / "eval"
REPOSITORY = Path(__file__).parent.parent
INSTANCE = "testorg__calculator.abc1234"
"""The instance of the tests without an engine: part of the package as it is."""
OTHER = "agourlay__zip-password-finder.704700d"
"""Another one that the package knows."""
PRACTICE = "practice__wordtally.0000001"
"""The instance of the tests on an engine."""
LABELS = {"obo-bench.run": f"test-{os.getpid()}", "obo-bench.role": "evaluator"}
SOLUTIONS = {task.instance_id: task.solution for task in PRACTICE_TASKS}

Solution = Mapping[str, tuple[bytes, int]]


def pack(run_root: Path, instance_id: str, files: Solution) -> str:
    """Write the archive of a submission and return its SHA-256."""
    path = run_root / instance_id / "submission.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        top = tarfile.TarInfo("./")
        top.type, top.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(top)
        for name, (data, mode) in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode = len(data), mode
            archive.addfile(member, BytesIO(data))
    return sha256_file(path)


def script(path: Path, text: str) -> Path:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def stand_in(tmp_path: Path, client: str = "exit 1", evaluator: str = "") -> dict[str, str]:
    """Return an environment whose docker client, and whose official command if given, are shell scripts."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    environ |= {"PROGRAMBENCH_BLOB_DIR": str(tmp_path / "no-blobs")}
    environ |= {"PROGRAMBENCH_DOCKER_EXECUTABLE": str(script(tmp_path / "docker-client", client))}
    if evaluator:
        cli = script(tmp_path / "official", evaluator)
        environ |= {"PROGRAMBENCH_CLI": str(cli), "PROGRAMBENCH_PYTHON": sys.executable}
    return environ


def passing(run_root: Path, others: str = "", then: str = "") -> str:
    """Return an official command that passes INSTANCE, then does `then`, and does `others` with any other instance."""
    target = eval_json_path(run_root, INSTANCE)
    graded = f'cp "{DATA}/correct.eval.json" "{target}"; {then or ":"}'
    cases = f'case "$*" in *testorg*) {graded} ;; *) {others or ":"} ;; esac'
    return f'[ "$1" = eval ] || exit 0\n{cases}'


def evaluate(run_root: Path, environ: Mapping[str, str], **changes: Any) -> EvaluationOutcome:
    request: dict[str, Any] = {
        "run_root": run_root,
        "requested_ids": (INSTANCE,),
        "submissions": {INSTANCE: "0" * 64},
        "docker_cpus": min(2, os.cpu_count() or 1),
        "timeout_sec": 240.0,
        "environ": environ,
        "labels": LABELS,
        "invocation": "inv-1",
    }
    return evaluate_submissions(EvaluationRequest(**request | changes), SilentReporter())


def reason_of(outcome: EvaluationOutcome, instance_id: str = INSTANCE) -> tuple[str, str | None]:
    """Return reason and blame of an instance, which must be ungraded."""
    row = outcome.summary.instances[instance_id]
    assert (row.verdict, row.score) == (Verdict.UNGRADED, None)
    return row.reason, row.blame


def put_old_pass(run_root: Path, instance_id: str = INSTANCE) -> bytes:
    path = eval_json_path(run_root, instance_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "correct.eval.json", path)
    return path.read_bytes()


def slowed(solution: Solution, where: str) -> Solution:
    """Return the solution with a build, or a program, that hangs."""
    files = dict(solution)
    wait = b"#!/bin/sh\nsleep 600\n"
    if where == "build":
        return {**files, "compile.sh": (wait, 0o755)}
    build = b"#!/bin/sh\ncp hang executable\nchmod 755 executable\n"
    return files | {"hang": (wait, 0o755), "compile.sh": (build, 0o755)}


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], object], timeout_sec: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_sec
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def on_engine(kind: str, label: str) -> str:
    """Return the ids of the containers (`ps`) or images that carry a label."""
    argv = ["docker", kind, "-aq", "--filter", f"label={label}"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def left_behind(label: str = f"obo-bench.run={LABELS['obo-bench.run']}") -> str:
    """Return the ids of all containers and images of a label."""
    return on_engine("ps", label) + on_engine("images", label)


def sweep() -> None:
    """Let a failing test leave nothing on the engine."""
    remove_labelled(shutil.which("docker") or "docker", os.environ, LABELS, 0.0)
