"""The official evaluator, run for real: with stand-in docker clients for each way to fail, and on a real engine."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.files import sha256_file
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled, write_wrapper
from obo_bench.programbench.evaluation.eval_files import eval_json_path, provenance_path
from obo_bench.programbench.evaluation.evaluator import (
    EvaluationOutcome,
    EvaluationRequest,
    evaluate_submissions,
    preflight_evaluator,
)
from obo_bench.programbench.evaluation.official import identify_evaluator
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict

DATA = Path(__file__).parent / "data" / "eval"
REPOSITORY = Path(__file__).parent.parent
INSTANCE = "testorg__calculator.abc1234"
"""The instance of the tests without an engine: part of the package as it is."""
PRACTICE = "practice__wordtally.0000001"
"""The instance of the tests on an engine."""
LABELS = {"obo-bench.run": f"test-{os.getpid()}", "obo-bench.role": "evaluator"}
CANNOT_CONNECT = 'echo "Cannot connect to the Docker daemon" >&2; exit 1'

Pack = Callable[..., str]
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


@pytest.fixture
def run_root(tmp_path: Path) -> Path:
    root = tmp_path / "run"
    root.mkdir()
    return root


@pytest.fixture
def client(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return an environment whose docker client is a shell script."""

    def environment(script: str) -> dict[str, str]:
        path = tmp_path / "docker-client"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        blobs = {"PROGRAMBENCH_BLOB_DIR": str(tmp_path / "no-blobs"), "PROGRAMBENCH_DOCKER_EXECUTABLE": str(path)}
        return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **blobs}

    return environment


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


def only(outcome: EvaluationOutcome, instance_id: str = INSTANCE) -> tuple[str, str | None]:
    """Return reason and blame of an instance, which must be ungraded."""
    row = outcome.summary.instances[instance_id]
    assert (row.verdict, row.score) == (Verdict.UNGRADED, None)
    return row.reason, row.blame


def put_old_pass(run_root: Path, instance_id: str = INSTANCE) -> bytes:
    path = eval_json_path(run_root, instance_id)
    shutil.copy(DATA / "correct.eval.json", path)
    return path.read_bytes()


# --- what can be said without running anything


def test_the_evaluator_is_identified_as_the_child_sees_it() -> None:
    environ = dict(os.environ) | {"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/true"}
    identity = preflight_evaluator(environ)
    assert identity == identify_evaluator(environ)
    assert (identity.tasks_dir / INSTANCE / "task.yaml").is_file()


def test_a_package_named_by_pythonpath_wins(tmp_path: Path) -> None:
    (tmp_path / "programbench").mkdir()
    (tmp_path / "programbench" / "__init__.py").write_text("", encoding="utf-8")
    environ = dict(os.environ) | {"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/true", "PYTHONPATH": str(tmp_path)}
    assert identify_evaluator(environ).tasks_dir == (tmp_path / "programbench" / "data" / "tasks").resolve()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"PATH": "/nonexistent"}, "'docker' is not an executable"),
        ({"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/false"}, "ended with status 1"),
        ({"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/true", "PROGRAMBENCH_DOCKER_CPUS": "many"}, "'many'"),
    ],
)
def test_an_evaluator_that_cannot_run_is_refused(changes: dict[str, str], words: str) -> None:
    with pytest.raises(PreflightRefused, match=words) as caught:
        preflight_evaluator({"PATH": os.environ["PATH"], **changes})
    assert caught.value.reason == "evaluator_unavailable"


def test_the_wrapper_labels_what_is_made_and_nothing_else(tmp_path: Path) -> None:
    real, wrapper = tmp_path / "real client", tmp_path / "docker"
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    real.chmod(0o755)
    write_wrapper(wrapper, str(real), {"a": "it's $HOME", "b": "2"})
    assert stat.S_IMODE(wrapper.stat().st_mode) == 0o700

    def said(*argv: str) -> list[str]:
        return subprocess.run([wrapper, *argv], capture_output=True, text=True, check=True, timeout=10).stdout.split(
            "\n"
        )

    assert said("run", "-d", "image x")[:-1] == ["run", "--label", "a=it's $HOME", "--label", "b=2", "-d", "image x"]
    changes = ["--change", 'LABEL "a"="it\'s \\$HOME"', "--change", 'LABEL "b"="2"']
    assert said("commit", "id", "ref")[:-1] == ["commit", *changes, "id", "ref"]
    assert said("exec", "run", "commit")[:-1] == ["exec", "run", "commit"]


def test_without_labels_nothing_is_removed_or_run(run_root: Path) -> None:
    with pytest.raises(ValueError, match="every container"):
        remove_labelled("/bin/false", {}, {}, 0.0)
    with pytest.raises(ValueError, match="needs labels"):
        evaluate(run_root, {}, labels={})


# --- stand-in docker clients


def test_a_dead_engine_leaves_the_old_pass_ungraded_and_kept_aside(
    run_root: Path, client: Callable[[str], dict[str, str]]
) -> None:
    sha = pack(run_root, INSTANCE, {})
    old = put_old_pass(run_root)
    outcome = evaluate(run_root, client(CANNOT_CONNECT), submissions={INSTANCE: sha})
    assert only(outcome) == ("RuntimeError", Blame.HOST)
    assert "Cannot connect" in outcome.summary.instances[INSTANCE].detail
    assert (outcome.status, outcome.ungraded_submissions) == ("completed", (INSTANCE,))
    assert (outcome.summary.official_listed, outcome.summary.official_mean_over_listed) == (0, None)
    assert not eval_json_path(run_root, INSTANCE).exists()
    assert (run_root / "eval" / "stale" / "inv-1" / f"{INSTANCE}.eval.json").read_bytes() == old
    record = json.loads((run_root / "programbench_eval_result.json").read_text(encoding="utf-8"))
    assert record["eval"]["returncode"] == 0
    assert "ERROR: RuntimeError" in record["eval"]["stdout"]
    assert "Cannot connect" in (run_root / "eval" / "inv-1" / "eval.stderr.log").read_text(encoding="utf-8")
    assert record["info"]["returncode"] == 2, "without a file, `programbench info` has nothing to list"


def test_what_an_ended_evaluator_wrote_is_distrusted(run_root: Path, client: Callable[[str], dict[str, str]]) -> None:
    sha = pack(run_root, INSTANCE, {})
    target = eval_json_path(run_root, INSTANCE)
    false_failure = DATA / "interrupted-group.eval.json"
    environ = client(f'case "$1" in run) cp "{false_failure}" "{target}"; kill -TERM $PPID; sleep 5 ;; esac')
    outcome = evaluate(run_root, environ, submissions={INSTANCE: sha})
    assert outcome.status == "interrupted"
    assert only(outcome) == ("evaluator_interrupted", Blame.HOST)
    assert not target.exists()
    assert (run_root / "eval" / "stale" / "inv-1" / target.name).read_bytes() == false_failure.read_bytes()


def test_an_evaluator_that_fails_as_a_whole_grades_nothing(
    run_root: Path, client: Callable[[str], dict[str, str]]
) -> None:
    sha = pack(run_root, INSTANCE, {})
    outcome = evaluate(run_root, client("exit 1"), submissions={INSTANCE: sha}, workers=0)
    assert outcome.status == "evaluator_failed"
    assert only(outcome) == ("evaluator_failed", Blame.EVALUATOR)


def test_the_time_limit_ends_the_whole_process_group(
    run_root: Path, tmp_path: Path, client: Callable[[str], dict[str, str]]
) -> None:
    sha = pack(run_root, INSTANCE, {})
    environ = client(f'case "$1" in run) trap "" TERM; echo $$ > {tmp_path}/pid; sleep 100; sleep 100 ;; esac')
    outcome = evaluate(run_root, environ, submissions={INSTANCE: sha}, timeout_sec=3.0)
    assert outcome.status == "timed_out"
    assert only(outcome) == ("evaluator_timed_out", Blame.UNKNOWN)
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text(encoding="utf-8"))))


def test_a_missing_client_is_told_and_not_raised(run_root: Path) -> None:
    outcome = evaluate(run_root, {"PATH": "/nonexistent"}, requested_ids=(INSTANCE, "no__one.0000000"))
    assert outcome.status == "evaluator_failed"
    assert only(outcome) == ("evaluator_unavailable", Blame.HOST)
    assert outcome.summary.instances["no__one.0000000"].reason == "no_submission"


def test_what_cannot_be_evaluated_is_named(run_root: Path, client: Callable[[str], dict[str, str]]) -> None:
    pack(run_root, INSTANCE, {"compile.sh": (b"", 0o755)})
    strange = pack(run_root, "no__one.0000000", {})
    ids = (INSTANCE, "no__one.0000000", "agourlay__zip-password-finder.704700d", "gone__away.0000000")
    submissions = {INSTANCE: "f" * 64, ids[1]: strange, ids[2]: "e" * 64}
    outcome = evaluate(run_root, client("exit 1"), requested_ids=ids, submissions=submissions)
    reasons = [row.reason for row in outcome.summary.instances.values()]
    assert reasons == ["submission_changed", "unknown_to_evaluator", "submission_missing", "no_submission"]
    assert list(outcome.summary.instances) == list(ids)
    assert outcome.command == ()
    assert outcome.ungraded_submissions == ids[:3]
    assert outcome.summary.official_benchmark_size == 200


def test_nothing_submitted_is_nothing_to_evaluate(run_root: Path, client: Callable[[str], dict[str, str]]) -> None:
    (run_root / INSTANCE).mkdir()
    put_old_pass(run_root)
    outcome = evaluate(run_root, client("exit 1"), submissions={})
    assert (outcome.status, outcome.ungraded_submissions) == ("nothing_to_evaluate", ())
    assert only(outcome) == ("no_submission", Blame.UNKNOWN)
    assert not eval_json_path(run_root, INSTANCE).exists(), "a file without an archive belongs to nobody"


# --- runs of our own process that end on the way

DRIVER = """
import os, signal, sys
from pathlib import Path
from obo_bench.core.reporter import PlainReporter
from obo_bench.programbench.evaluation.evaluator import EvaluationRequest, evaluate_submissions

def end(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, end)
evaluate_submissions(EvaluationRequest(
    run_root=Path(sys.argv[1]), requested_ids=(sys.argv[2],), submissions={sys.argv[2]: sys.argv[3]},
    docker_cpus=min(2, os.cpu_count()), timeout_sec=240.0, environ=dict(os.environ),
    labels={"obo-bench.run": sys.argv[4], "obo-bench.role": "evaluator"}, invocation="inv-1",
), PlainReporter())
"""


def start_driver(run_root: Path, instance_id: str, sha: str, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([*filter(None, [environ.get("PYTHONPATH")]), str(REPOSITORY)])
    argv = [sys.executable, "-c", DRIVER, str(run_root), instance_id, sha, LABELS["obo-bench.run"]]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(argv, env={**environ, "PYTHONPATH": path}, stdout=quiet, stderr=quiet)


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


def test_a_killed_run_leaves_no_evaluator_behind(
    run_root: Path, tmp_path: Path, client: Callable[[str], dict[str, str]]
) -> None:
    sha = pack(run_root, INSTANCE, {})
    environ = client(
        f'case "$1" in run) echo $PPID $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pids; sleep 100 ;; esac'
    )
    driver = start_driver(run_root, INSTANCE, sha, environ)
    wait_until((tmp_path / "pids").exists)
    driver.kill()
    driver.wait(10)
    pids = [int(word) for word in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    wait_until(lambda: not any(alive(pid) for pid in pids), 10.0)


# --- a real engine


@pytest.fixture(scope="session")
def practice(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which the practice tasks can be evaluated."""
    from obo_bench.practice.images import ensure_images
    from obo_bench.practice.overlay import write_overlay
    from obo_bench.practice.tasks import PRACTICE_TASKS

    ensure_images(PRACTICE_TASKS, SilentReporter())
    return dict(os.environ) | dict(write_overlay(tmp_path_factory.mktemp("overlay"), PRACTICE_TASKS))


@pytest.fixture
def solutions() -> dict[str, Callable[[str], Solution]]:
    """Return the practice tasks' solutions by instance id."""
    from obo_bench.practice.tasks import PRACTICE_TASKS

    return {task.instance_id: task.solution for task in PRACTICE_TASKS}


def left_behind() -> str:
    """Return ids of all containers and images that carry our labels."""
    listed = ""
    for listing in (["ps", "-aq"], ["images", "-aq"]):
        argv = ["docker", *listing, *(w for k, v in LABELS.items() for w in ("--filter", f"label={k}={v}"))]
        listed += subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout
    return listed.strip()


@pytest.fixture
def swept() -> Iterator[None]:
    """Let a failing test leave nothing on the engine."""
    yield
    remove_labelled(shutil.which("docker") or "docker", os.environ, LABELS, 0.0)


@pytest.mark.docker
@pytest.mark.usefixtures("swept")
def test_right_wrong_and_broken_submissions_get_the_official_score(
    run_root: Path, practice: dict[str, str], solutions: dict[str, Callable[[str], Solution]]
) -> None:
    first, second = list(solutions)[:2]
    shas = {
        first: pack(run_root, first, solutions[first]("solved")),
        second: pack(run_root, second, solutions[second]("partial")),
    }
    outcome = evaluate(run_root, practice, requested_ids=(first, second), submissions=shas, workers=2)
    right, wrong = outcome.summary.instances[first], outcome.summary.instances[second]
    assert (right.verdict, right.score, right.failed, right.attempts) == (Verdict.PASS, 1.0, 0, 1)
    assert (wrong.verdict, wrong.reason, wrong.blame) == (Verdict.FAIL, "tests_failed", Blame.SUBMISSION)
    assert wrong.score is not None
    assert 0.0 < wrong.score < 1.0
    assert (outcome.status, outcome.ungraded_submissions, left_behind()) == ("completed", (), "")
    assert outcome.summary.official_mean_over_listed == (1.0 + wrong.score) / 2
    record = json.loads((run_root / "programbench_eval_result.json").read_text(encoding="utf-8"))
    (average,) = re.findall(r"^ Average +(\d+) +2 instances", record["info"]["stdout"], re.MULTILINE)
    assert int(average) == round((1.0 + wrong.score) * 50)

    kept = evaluate(run_root, practice, requested_ids=(first, second), submissions=shas, invocation="inv-2")
    assert kept.command == (), "proven files are not evaluated again"
    assert kept.summary.instances == outcome.summary.instances

    shas[first] = pack(run_root, first, solutions[first]("broken-build"))
    again = evaluate(run_root, practice, requested_ids=(first, second), submissions=shas, invocation="inv-3")
    broken = again.summary.instances[first]
    assert (broken.verdict, broken.reason, broken.score) == (Verdict.FAIL, "compile_failed", 0.0)
    assert again.command[-1] == "^(?:" + re.escape(first) + ")$"
    assert again.summary.instances[second] == wrong


@pytest.mark.docker
@pytest.mark.usefixtures("swept")
def test_an_engine_that_is_gone_gives_no_verdict(
    run_root: Path, practice: dict[str, str], solutions: dict[str, Callable[[str], Solution]]
) -> None:
    sha = pack(run_root, PRACTICE, solutions[PRACTICE]("solved"))
    put_old_pass(run_root, PRACTICE)
    environ = practice | {"DOCKER_HOST": f"unix://{run_root}/nobody.sock"}
    outcome = evaluate(run_root, environ, requested_ids=(PRACTICE,), submissions={PRACTICE: sha})
    assert only(outcome, PRACTICE) == ("RuntimeError", Blame.HOST)


def slowed(solution: Solution, where: str) -> Solution:
    """Return the solution with a build, or a program, that hangs."""
    files = dict(solution)
    wait = b"#!/bin/sh\nsleep 600\n"
    if where == "build":
        return {**files, "compile.sh": (wait, 0o755)}
    build = b"#!/bin/sh\ncp hang executable\nchmod 755 executable\n"
    return files | {"hang": (wait, 0o755), "compile.sh": (build, 0o755)}


def docker_lists(*listing: str) -> bool:
    argv = ["docker", *listing, "--filter", f"label=obo-bench.run={LABELS['obo-bench.run']}"]
    return bool(subprocess.run(argv, capture_output=True, check=True, timeout=30).stdout.strip())


@pytest.mark.docker
@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize(("where", "sign"), [("build", ["ps", "-q"]), ("tests", ["images", "-q"])])
def test_a_signal_in_mid_evaluation_leaves_no_container_and_no_image(
    run_root: Path,
    practice: dict[str, str],
    solutions: dict[str, Callable[[str], Solution]],
    where: str,
    sign: list[str],
) -> None:
    sha = pack(run_root, PRACTICE, slowed(solutions[PRACTICE]("solved"), where))
    driver = start_driver(run_root, PRACTICE, sha, practice)
    wait_until(lambda: docker_lists(*sign))
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(60) != 0
    assert left_behind() == ""
    summary = json.loads((run_root / "grade_summary.json").read_text(encoding="utf-8"))
    assert summary["evaluation_status"] == "interrupted"
    assert summary["instances"][PRACTICE]["reason"] == "evaluator_interrupted"
    assert not provenance_path(run_root, PRACTICE).exists()


@pytest.mark.docker
@pytest.mark.usefixtures("swept")
def test_a_container_killed_from_outside_is_no_failed_build(
    run_root: Path, practice: dict[str, str], solutions: dict[str, Callable[[str], Solution]]
) -> None:
    files = dict(solutions[PRACTICE]("solved")) | {"compile.sh": (b"#!/bin/sh\nexec sleep 4321\n", 0o755)}
    sha = pack(run_root, PRACTICE, files)
    ours = 'docker ps -q --filter "$0"'
    script = f'until docker top $({ours}) | grep -q "sleep 4321"; do sleep 0.1; done; docker rm -f $({ours})'
    argv = ["sh", "-c", script, f"label=obo-bench.run={LABELS['obo-bench.run']}"]
    killer = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    outcome = evaluate(run_root, practice, requested_ids=(PRACTICE,), submissions={PRACTICE: sha})
    assert killer.wait(10) == 0
    assert only(outcome, PRACTICE) == ("evaluator_container_lost", Blame.HOST)
    assert not eval_json_path(run_root, PRACTICE).exists()
    assert outcome.summary.official_listed == 0


@pytest.mark.docker
@pytest.mark.usefixtures("swept")
def test_a_build_that_kills_its_own_container_is_a_failed_build(
    run_root: Path, practice: dict[str, str], solutions: dict[str, Callable[[str], Solution]]
) -> None:
    files = dict(solutions[PRACTICE]("solved")) | {"compile.sh": (b"#!/bin/sh\nkill -9 -1\nexit 1\n", 0o755)}
    sha = pack(run_root, PRACTICE, files)
    outcome = evaluate(run_root, practice, requested_ids=(PRACTICE,), submissions={PRACTICE: sha})
    row = outcome.summary.instances[PRACTICE]
    assert (row.verdict, row.reason, row.score) == (Verdict.FAIL, "compile_failed", 0.0)
