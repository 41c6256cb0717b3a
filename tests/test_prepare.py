"""`prepare` on a container and a workspace that were made by hand: what it makes, repeats, leaves alone and grades."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.lock import LOCK_NAME
from tests.conftest import git
from tests.hand_made import AGENTS, IID, IMAGE, Hand, by_hand, docker, picture, reference

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


@pytest.fixture
def hand(tmp_path: Path, checkout: Path, practice_env: dict[str, str]) -> Iterator[Hand]:
    with by_hand(tmp_path, checkout, practice_env) as made:
        yield made


def test_a_fresh_workspace_becomes_a_task_and_a_submission_and_a_second_run_changes_nothing(hand: Hand) -> None:
    hand.fresh()
    hand.start("--memory", "256m", *("--network", "none", "--cap-drop", "ALL"))
    ledger, copy = hand.base / "all.jsonl", hand.base / "run_manifest.json"
    done = hand.prepare("--ledger-output", ledger, "--manifest-output", copy)
    assert done.status == 0, done.stderr

    place = hand.workspace / "reference_executable"
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (reference(), 0o111)
    assert not (hand.workspace / "executable").exists()
    assert git(hand.workspace, "log", "--format=%an %s") == "agent Workspace as prepared"
    assert "executable" not in git(hand.workspace, "ls-files")
    assert git(hand.workspace, "status", "--porcelain") == ""

    body = hand.document("ouroboros_task_body.json")
    assert (body["task_id"], body["executor_ref"]["container_name"]) == (IID, hand.name)
    assert body["workspace_root"] == str(hand.workspace)
    assert body["metadata"]["cleanroom_preflight"] == {"image": IMAGE, "network": "none"}
    assert body["description"] == hand.instruction.read_text() == (hand.directory / "instruction.txt").read_text()

    manifest = done.manifest
    assert (manifest["requested_task_ids"], manifest["requested_count"]) == ([IID], 1)
    assert manifest["harness"]["container"]["limits"]["memory_bytes"] == 256 << 20
    assert manifest == json.loads(copy.read_text()) == hand.document("run_manifest.json")
    assert not (hand.run / "run_manifest.json").exists()
    lines = (hand.run / LEDGER_NAME).read_bytes()
    assert lines == (hand.directory / LEDGER_NAME).read_bytes() == ledger.read_bytes()
    [row] = hand.rows()
    assert (row.status, row.reason_code, row.details["reference"]) == ("completed", "submission_prepared", "moved")
    assert row.submission_sha256 == hand.document("submission.json")["sha256"] != ""
    assert hand.archived() == {".", "./.gitignore"}

    before = picture(hand.workspace)
    again = hand.prepare("--ledger-output", ledger, "--manifest-output", copy)
    assert again.status == 0, again.stderr
    assert picture(hand.workspace) == before
    second = hand.rows()[1]
    assert (second.submission_sha256, second.details["reference"]) == (row.submission_sha256, "in_place")
    assert len(ledger.read_text().splitlines()) == 2
    assert docker("inspect", "--format", "{{.State.Running}}", hand.name) == "true"
    nonce = manifest["harness"]["run_nonce"]
    assert docker("ps", "--all", "--quiet", "--filter", f"label=obo-bench.nonce={nonce}") == ""


def test_a_solved_workspace_keeps_the_agents_program_and_is_graded_for_what_it_is(hand: Hand) -> None:
    hand.fresh()
    hand.start()
    assert hand.prepare().status == 0
    hand.solve()
    git(hand.workspace, "add", "--all")
    git(hand.workspace, "commit", "-q", "-m", "the agent's")
    before = picture(hand.workspace)
    done = hand.prepare("--eval", "--strict")
    assert done.status == 0, done.stderr
    assert picture(hand.workspace) == before
    assert (hand.workspace / "executable").read_bytes() == AGENTS
    assert git(hand.workspace, "log", "-1", "--format=%s") == "the agent's"
    assert {"./compile.sh"} < hand.archived()
    assert not {"./executable", "./reference_executable"} & hand.archived()
    assert done.envelope["result"]["official_eval_status"] == "pass"
    assert done.manifest["extra"]["official_eval_status"] == "completed"
    assert [row.official_eval_status for row in hand.rows()] == ["not_run", "not_run", "pass"]

    other = "practice__runlength.0000002"
    assert hand.prepare(instance=other).status == 1
    assert hand.prepare("--eval").status == 0
    summary = json.loads((hand.run / "grade_summary.json").read_text())
    told = {name: grade["reason"] for name, grade in summary["instances"].items()}
    assert (summary["requested"], told) == (2, {IID: "all_tests_passed", other: "no_submission"})

    assert hand.prepare().status == 0
    repeated = hand.rows()[-1]
    assert (repeated.official_eval_status, repeated.details["official_evaluation"]["score"]) == ("pass", 1.0)


def test_a_submission_without_a_verdict_ends_with_six_and_is_kept(hand: Hand, tmp_path: Path) -> None:
    hand.fresh()
    hand.start()
    hand.solve()
    (hand.workspace / "executable").rename(hand.workspace / "kept")
    (hand.workspace / "reference_executable").write_bytes(reference())
    (hand.workspace / "reference_executable").chmod(0o111)
    (hand.workspace / "kept").rename(hand.workspace / "executable")
    hand.env["PROGRAMBENCH_BLOB_DIR"] = str(tmp_path)
    done = hand.prepare("--eval", "-q")
    assert done.status == 6
    assert done.manifest["extra"]["outcome"] == "official_eval_error"
    (why,) = done.stderr.splitlines()
    assert why.startswith("programbench prepare: official_eval_error (exit status 6): ")
    assert "official_eval_failed" in why
    last = hand.rows()[-1]
    assert (last.status, last.reason_code, last.official_eval_status) == ("failed", "official_eval_failed", "ungraded")
    assert last.prediction_written
    assert last.submission_sha256 == hand.rows()[0].submission_sha256 != ""
    assert (hand.workspace / "executable").read_bytes() == AGENTS


def assert_as_if_at_once(hand: Hand) -> None:
    done = hand.prepare()
    assert done.status == 0, done.stderr
    assert (hand.workspace / "reference_executable").read_bytes() == reference()
    assert (hand.workspace / "reference_executable").stat().st_mode & 0o777 == 0o111
    assert sorted(path.name for path in hand.workspace.iterdir()) == [
        *(".git", ".gitignore", "docs", "reference_executable")
    ]
    assert git(hand.workspace, "log", "--format=%s") == "Workspace as prepared"
    assert not (hand.directory / ".scratch").exists()


@pytest.mark.parametrize("seen", ["reference_executable", ".git"])
def test_what_a_killed_invocation_leaves_is_completed_by_the_next(hand: Hand, seen: str) -> None:
    hand.fresh()
    hand.start()
    process = hand.begin()
    while process.poll() is None and not (hand.workspace / seen).exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert_as_if_at_once(hand)


def test_the_rests_of_every_step_are_no_obstacle(hand: Hand) -> None:
    hand.fresh()
    hand.start()
    (hand.workspace / "executable").chmod(0o755)
    git(hand.workspace, "init", "-q", "--bare", ".obo-bench-git")
    (hand.workspace / ".obo-bench-git" / "index.lock").write_text("")
    (hand.directory / ".scratch").mkdir(parents=True)
    (hand.directory / ".scratch" / "executable").write_text("half")
    assert_as_if_at_once(hand)


def test_two_instances_of_a_run_are_prepared_at_once_and_one_instance_is_not(hand: Hand) -> None:
    hand.fresh()
    hand.start()
    other = "practice__runlength.0000002"
    processes = [hand.begin(), hand.begin("--instance-id", other)]
    assert [process.wait(timeout=120) for process in processes] == [0, 1]
    ended = {row.instance_id: row.reason_code for row in hand.rows()}
    assert ended == {IID: "submission_prepared", other: "cleanroom_preflight_failed"}
    assert [row.seq for row in hand.rows()] == [1, 2]

    with FileLock(hand.directory / LOCK_NAME):
        copy = hand.base / "copy.json"
        done = hand.prepare("--manifest-output", copy)
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_locked")
    assert not copy.exists()
    assert len(hand.rows()) == 2
