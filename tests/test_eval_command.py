"""`obo-bench eval` as a process: what it takes, what it refuses, what it leaves on record. No engine is needed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.invocation_log import LOGS
from obo_bench.core.ledger import Ledger, Row, latest_rows, read_rows
from obo_bench.core.lock import LOCK_NAME, OWNER_NAME, RunLock
from obo_bench.core.redact import Redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.tasks import PRACTICE_TASKS
from obo_bench.programbench.admission.order import AdmittedImage, InstanceOrder, write_order
from obo_bench.programbench.evaluation.eval_files import eval_json_path
from tests.conftest import Done, obo
from tests.evaluation_case import (
    INSTANCE,
    OTHER,
    PRACTICE,
    pack,
    passing,
    put_old_pass,
    script,
    stand_in,
    wait_until,
)

NEVER = "zyedidia__micro.5d2b1a9"
IMAGE = "sha256:" + "a" * 64
CLIENT = f"""case "$1" in
  info) echo '{{"NCPU": 2}}' ;;
  --version) ;;
  image) echo '[{{"Id": "{IMAGE}", "RepoDigests": []}}]' ;;
  *) exit 1 ;;
esac"""


def world(tmp_path: Path, run_root: Path, others: str = "exit 0") -> dict[str, str]:
    """Return an environment in which INSTANCE passes and every other instance gets no result."""
    return stand_in(tmp_path, CLIENT, passing(run_root, others))


def make_run(root: Path) -> dict[str, str]:
    """Make the record of a run with two submissions and one instance that got none; returns the hashes."""
    shas = {iid: pack(root, iid, {}) for iid in (INSTANCE, OTHER)}
    order = InstanceOrder(run_nonce="n0nce", instance_ids=[INSTANCE, OTHER, NEVER])
    order.images[INSTANCE] = AdmittedImage(name="solved-in", id="sha256:" + "b" * 64)
    write_order(root, order)
    ledger = Ledger(root, "solve", Redactor())
    for iid, sha in shas.items():
        details = {"protection": "os"}
        ledger.append(row("completed", iid, submission_sha256=sha, prediction_written=True, details=details))
    ledger.append(row("failed", NEVER))
    (root / "run_manifest.json").write_text('{"command": "programbench run"}', encoding="utf-8")
    return shas


def row(status: Any, instance_id: str, **more: Any) -> Row:
    return Row(benchmark="programbench", instance_id=instance_id, status=status, reason_code="r", **more)


def grade_of(root: Path, instance_id: str) -> dict[str, Any]:
    summary = json.loads((root / "grade_summary.json").read_text(encoding="utf-8"))
    found = summary["instances"][instance_id]
    assert isinstance(found, dict)
    return found


def eval_(*arguments: str | Path, env: Mapping[str, str]) -> Done:
    return obo("eval", *arguments, "--json", env=env)


def test_any_directory_of_submissions_is_graded_and_said_to_be_vouched_for_by_nobody(tmp_path: Path) -> None:
    root = tmp_path / "from elsewhere"
    pack(root, INSTANCE, {})
    (root / "notes").mkdir()
    done = obo("programbench", "eval", root, env=world(tmp_path, root))
    assert (done.status, done.stdout) == (0, f"{root}\n")
    assert "no ledger vouches for the archives" in done.stderr
    manifest = json.loads((root / "eval" / "run_manifest.json").read_text(encoding="utf-8"))
    assert (manifest["command"], manifest["run_root"]) == ("programbench eval", str(root))
    assert manifest["requested_task_ids"] == [INSTANCE]
    assert manifest["harness"]["submission_hashes"] == "taken_now"
    assert manifest["harness"]["evaluator"]["command"][-1] == str(tmp_path / "official")
    assert manifest["extra"]["official_eval_status"] == "completed"
    assert manifest["extra"]["grades"]["pass"] == 1
    assert not (root / "run_manifest.json").exists()
    assert not (root / "result_index.jsonl").exists()


def test_one_thing_that_is_no_archive_does_not_keep_the_others_from_their_grades(tmp_path: Path) -> None:
    root = tmp_path / "from elsewhere"
    pack(root, INSTANCE, {})
    (root / OTHER / "submission.tar.gz").mkdir(parents=True)
    done = eval_(root, env=world(tmp_path, root))
    assert done.status == 6
    assert grade_of(root, INSTANCE)["verdict"] == "pass"
    other = grade_of(root, OTHER)
    assert (other["verdict"], other["reason"]) == ("ungraded", "submission_missing")
    assert "is not a regular file" in other["detail"]


def test_submissions_that_do_not_count_are_told(tmp_path: Path) -> None:
    root = tmp_path / "from elsewhere"
    pack(root, INSTANCE, {})
    pack(root, "second try", {})
    done = eval_(root, env=world(tmp_path, root))
    assert done.status == 0
    assert "not graded, as this is no instance of it: second try" in done.stderr


def test_a_run_is_graded_over_all_that_it_was_asked_for_and_its_ledger_tells_the_grades(tmp_path: Path) -> None:
    root = tmp_path / "runs" / "programbench" / "r"
    make_run(root)
    done = eval_("r", "--runs-root", tmp_path / "runs", env=world(tmp_path, root))
    assert (done.status, done.envelope["outcome"]) == (6, "official_eval_error")
    assert {name: done.envelope["result"][name] for name in ("requested", "submitted", "pass", "ungraded")} == {
        "requested": 3, "submitted": 2, "pass": 1, "ungraded": 2,
    }  # fmt: skip
    assert done.envelope["result"]["ungraded_submissions"] == [OTHER]
    extra = done.manifest["extra"]
    counts = {name: extra[f"{name}_count"] for name in ("completed", "failed", "skipped", "not_attempted")}
    assert counts == {"completed": 1, "failed": 1, "skipped": 0, "not_attempted": 1}
    assert done.manifest["harness"]["submission_hashes"] == "ledger"
    last = latest_rows(root / "result_index.jsonl")
    assert [last[iid].official_eval_status for iid in (INSTANCE, OTHER, NEVER)] == ["pass", "ungraded", "not_run"]
    assert last[INSTANCE].details["protection"] == "os"
    assert (root / "run_manifest.json").read_text(encoding="utf-8") == '{"command": "programbench run"}'
    quiet = obo("eval", root, "-q", env=world(tmp_path, root))
    ended = "programbench eval: official_eval_error (exit status 6): grades: 1 pass, 2 ungraded\n"
    assert (quiet.status, quiet.stderr) == (6, ended)


def test_another_image_than_the_solves_is_told_loudly(tmp_path: Path) -> None:
    root = tmp_path / "run"
    make_run(root)
    done = obo("eval", root, "--instance-id", INSTANCE, env=world(tmp_path, root))
    assert done.status == 0
    assert f"WARNING: graded in another image than solved in: {INSTANCE}" in done.stderr
    assert grade_of(root, INSTANCE)["image"] == {"evaluated": IMAGE, "solved": "sha256:" + "b" * 64, "same": False}


def test_an_image_that_is_not_pinned_grades_nothing(tmp_path: Path) -> None:
    root, pins = tmp_path / "run", tmp_path / "pins"
    make_run(root)
    pins.write_text(json.dumps({INSTANCE: "sha256:" + "c" * 64}), encoding="utf-8")
    assert eval_(root, "--filter", "testorg", env=world(tmp_path, root)).status == 0
    done = eval_(root, "--pin-digests", pins, env=world(tmp_path, root))
    assert done.status == 6
    assert [grade_of(root, iid)["reason"] for iid in (INSTANCE, OTHER)] == ["image_not_pinned"] * 2
    pins.write_text(json.dumps({INSTANCE: IMAGE}), encoding="utf-8")
    done = eval_(root, "--pin-digests", pins, "--filter", "testorg", env=world(tmp_path, root))
    assert (done.status, grade_of(root, INSTANCE)["verdict"]) == (0, "pass")


def test_a_repeated_and_a_selective_eval_keep_what_is_proven(tmp_path: Path) -> None:
    root = tmp_path / "run"
    make_run(root)
    assert eval_(root, "--slice", "0:1", env=world(tmp_path, root)).status == 0
    first = grade_of(root, INSTANCE)
    again = eval_(root, "--instance-ids", OTHER, env=world(tmp_path, root))
    assert (again.status, again.manifest["requested_task_ids"]) == (6, [OTHER])
    assert grade_of(root, INSTANCE) == first
    rows = [found.instance_id for found in read_rows(root / "result_index.jsonl")][3:]
    assert rows == [INSTANCE, OTHER]
    kept = eval_(root, "--filter", "testorg", env=world(tmp_path, root))
    assert (kept.manifest["official_command"], kept.manifest["extra"]["skipped_count"]) == ([], 1)
    forced = eval_(root, "--filter", "testorg", "--force", env=world(tmp_path, root))
    assert (forced.status, grade_of(root, INSTANCE)["attempts"]) == (0, 2)
    assert (root / "eval" / "stale" / forced.manifest["invocation"] / f"{INSTANCE}.eval.json").exists()


def test_grades_that_the_evaluator_here_cannot_give_again_are_not_taken_away(tmp_path: Path) -> None:
    root = tmp_path / "run"
    shas = {iid: pack(root, iid, {}) for iid in (PRACTICE, INSTANCE)}
    write_order(root, InstanceOrder(run_nonce="n0nce", instance_ids=list(shas)))
    env = world(tmp_path, root)
    task = next(task for task in PRACTICE_TASKS if task.instance_id == PRACTICE)
    tests = [{"name": "t", "branch": branch.name, "status": "passed", "extra": {}} for branch in task.branches]
    given = {"test_results": tests, "test_branches": [branch.name for branch in task.branches]}
    (tmp_path / "given").write_text(json.dumps(given), encoding="utf-8")
    copied = f"cp {tmp_path}/given {eval_json_path(root, PRACTICE)}"
    script(tmp_path / "official", f'[ "$1" = eval ] || exit 0\n{copied}')
    overlay = write_overlay(tmp_path / "tasks", [task])
    assert eval_(root, env={**env, **overlay}).status == 6, "the other one is not in the overlay"
    assert grade_of(root, PRACTICE)["verdict"] == "pass"
    script(tmp_path / "official", passing(root))
    before = tree(root)
    for arguments in ([], ["--force"], ["--instance-id", INSTANCE]):
        done = eval_(root, *arguments, env=env)
        assert (done.status, done.envelope["refusal"]["reason"]) == (5, "grades_at_stake")
        assert done.envelope["refusal"]["evidence"]["instances"] == [PRACTICE]
        assert tree(root) == before
    (root / PRACTICE / "submission.tar.gz").write_bytes(b"another one")
    assert eval_(root, "--instance-id", INSTANCE, env=env).status == 0, "the grade was another archive's"


def tree(root: Path) -> dict[str, bytes]:
    """Return what a run has to show: all but the records of who looked at it."""
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    shown = (name for name in names if name.parts[0] not in (LOGS, "eval", LOCK_NAME, OWNER_NAME))
    return {str(name): (root / name).read_bytes() for name in shown}


def test_an_eval_json_that_is_invalid_does_not_stop_the_command(tmp_path: Path) -> None:
    root = tmp_path / "run"
    make_run(root)
    put_old_pass(root)
    (root / INSTANCE / f"{INSTANCE}.eval.json").write_text("{", encoding="utf-8")
    assert eval_(root, "--filter", "testorg", env=world(tmp_path, root)).status == 0


@pytest.mark.parametrize(
    ("arguments", "env", "reason"),
    [
        (["--instance-id", "testorg__calculator.abc1235"], {}, "unknown_instance"),
        (["--filter", "calculator"], {}, "empty_selection"),
        (["--slice", "5:"], {}, "empty_selection"),
        (["--ids-file", "/nonexistent"], {}, "ids_file_unreadable"),
        (["--pin-digests", "/nonexistent"], {}, "pins_unreadable"),
        ([], {"PROGRAMBENCH_PYTHON": "/nonexistent"}, "evaluator_unavailable"),
        ([], {"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/false"}, "engine_unreachable"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason_on_record(
    tmp_path: Path, arguments: list[str], env: dict[str, str], reason: str
) -> None:
    root = tmp_path / "run"
    make_run(root)
    done = eval_(root, *arguments, env={**world(tmp_path, root), **env})
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, reason)
    assert done.manifest["extra"]["refusal"]["reason"] == reason
    assert not (root / "grade_summary.json").exists()


def test_a_run_that_is_not_there_and_a_directory_without_submissions_are_refused(tmp_path: Path) -> None:
    env = world(tmp_path, tmp_path)
    for _ in range(2):
        done = eval_("typo", "--runs-root", tmp_path / "runs", env=env)
        assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_not_found")
    (tmp_path / "empty" / "documents").mkdir(parents=True)
    done = eval_(tmp_path / "empty", env=env)
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "empty_selection")


@pytest.mark.parametrize(
    "arguments",
    [
        [""],
        ["r"],
        ["../a b", "--workers", "0"],
        ["./r", "--slice", "a:b"],
        ["./r", "--filter", "["],
        ["./r", "--instance-limit-sec", "0"],
    ],
)
def test_what_means_nothing_starts_nothing(tmp_path: Path, arguments: list[str]) -> None:
    done = obo("eval", *arguments, env={"OUROBOROS_BENCH_RUNS_ROOT": ""}, cwd=tmp_path)
    assert done.status == 2
    assert list(tmp_path.iterdir()) == []


@contextmanager
def hanging_eval(tmp_path: Path, root: Path) -> Iterator[None]:
    """Keep an eval at work."""
    env = world(tmp_path, root, others=f"touch {tmp_path}/at-work; sleep 100")
    argv = [sys.executable, "-m", "obo_bench", "eval", str(root), "-q"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, env={**os.environ, **env}, stdout=quiet, stderr=quiet) as process:
        try:
            wait_until((tmp_path / "at-work").exists)
            yield
        finally:
            process.terminate()
            assert process.wait(60) == 143


def test_a_run_has_one_user_at_a_time(tmp_path: Path) -> None:
    root = tmp_path / "run"
    make_run(root)
    with hanging_eval(tmp_path, root):
        with pytest.raises(PreflightRefused, match="in use by process"):
            RunLock(root, "a run").acquire()
        done = eval_(root, env=world(tmp_path, root))
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_locked")
    assert Path(done.envelope["manifest"]).parent == root / "eval" / "manifests"
    manifest = json.loads((root / "eval" / "run_manifest.json").read_text(encoding="utf-8"))
    assert (manifest["extra"]["outcome"], manifest["extra"]["exit_code"]) == ("interrupted", 143)
    assert [grade_of(root, iid)["reason"] for iid in (INSTANCE, OTHER)] == ["all_tests_passed", "evaluator_interrupted"]
