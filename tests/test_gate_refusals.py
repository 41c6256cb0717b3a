"""What the gate does not judge, and says why."""

import json
from pathlib import Path

import pytest

from obo_bench.core.lock import RunLock
from tests.conftest import Done
from tests.gate_world import FOUR, GateWorld, four_tasks, ids_file, in_process, reference


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return four_tasks(tmp_path / "runs" / "trial")


@pytest.fixture
def tasks(tmp_path: Path) -> list[str]:
    return ["--tasks", str(ids_file(tmp_path / "tasks.txt", FOUR)), "--min-pairs", "4"]


def refused(done: Done) -> tuple[int, str]:
    assert done.manifest["extra"]["outcome"] == "refused"
    return done.status, done.envelope["refusal"]["reason"]


def test_what_is_no_graded_run_is_refused(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    others = (*tasks, *reference(tmp_path, 0, 0, 0, 0))
    world.write(outcome="dry_run")
    assert refused(world.gate(*others)) == (5, "run_not_graded")
    world.write()
    (world.root / "grade_summary.json").unlink()
    assert refused(world.gate(*others)) == (5, "run_not_graded")
    (world.root / "run_manifest.json").unlink()
    assert refused(world.gate(*others)) == (5, "run_not_found")


def test_a_score_that_is_not_that_of_its_counts_is_refused(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    path = world.root / "grade_summary.json"
    document = json.loads(path.read_text())
    document["instances"][FOUR[3]]["score"] = 0.9
    path.write_text(json.dumps(document))
    done = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0))
    assert refused(done) == (5, "run_not_graded")
    assert "not that of its counts" in done.stderr


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"passed": -2, "failed": 0, "not_run": 0, "score": 1.0}, "passed"),
        ({"passed": 4, "failed": -2, "not_run": 0, "score": 2.0}, "failed"),
        ({"passed": 4, "failed": 1, "not_run": -1, "score": 1.0}, "not_run"),
        ({"attempts": -1}, "attempts"),
    ],
)
@pytest.mark.parametrize("whose", ["run", "reference"])
def test_counts_below_nothing_are_refused(
    tmp_path: Path, world: GateWorld, tasks: list[str], whose: str, changes: dict[str, float], name: str
) -> None:
    other = four_tasks(tmp_path / "runs" / "champion")
    path = (world if whose == "run" else other).root / "grade_summary.json"
    document = json.loads(path.read_text())
    document["instances"][FOUR[0]] |= changes
    path.write_text(json.dumps(document))
    done = world.gate(*tasks, "--reference", other.root)
    assert refused(done) == (5, "run_not_graded" if whose == "run" else "scores_unreadable")
    assert f"{name}: Input should be greater than or equal to 0" in done.stderr


@pytest.mark.parametrize("place", ["trial", "trial/eval", "champion"])
def test_a_run_or_reference_that_a_process_is_at_work_on_is_refused(
    tmp_path: Path, world: GateWorld, tasks: list[str], place: str
) -> None:
    other = GateWorld(tmp_path / "runs" / "champion")
    other.graded(FOUR[0], 1, 1)
    other.write()
    (tmp_path / "runs" / place).mkdir(exist_ok=True)
    lock = RunLock(tmp_path / "runs" / place, "other")
    lock.acquire()
    try:
        assert refused(world.gate(*tasks, "--reference", other.root)) == (5, "run_locked")
    finally:
        lock.release()


def test_what_is_not_there_is_called_what_it_can_only_be(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    for named, what in (
        ("none.json", "file or directory"),
        ("./none", "file or directory"),
        ("none", "directory or run"),
    ):
        done = world.gate(*tasks, "--reference", named)
        assert refused(done) == (5, "scores_unreadable")
        assert f"{what}\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nowhere"),
        (["--tasks", "t", "--draw", "--seed", "7"], "more than once (--tasks, --draw)"),
        (["--tasks", "t", "--smoke-ids-file", "s"], "more than once (--tasks, --smoke-ids-file)"),
        (["--smoke-ids-file", "s"], "by half (--smoke-ids-file alone)"),
        (["--unseen-ids-file", "u"], "by half (--unseen-ids-file alone)"),
    ],
)
def test_what_is_wrong_with_the_naming_of_tasks_is_told(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = in_process("programbench", "gate", "--run", tmp_path / "r", "--reference", "x", *arguments)
    assert done.status == 2
    assert f"which tasks are compared is said {said}: give one of --tasks FILE" in done.stderr


def test_a_run_is_no_reference_of_itself(world: GateWorld, tasks: list[str]) -> None:
    done = world.gate(*tasks, "--reference", world.root)
    assert refused(done) == (5, "scores_unreadable")
    assert "the grades of the run itself" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--tasks", "t", "--draw", "--seed", "1"],
        ["--draw"],
        ["--tasks", "t", "--seed", "1"],
        ["--smoke-ids-file", "s"],
        ["--unseen-ids-file", "u"],
        ["--smoke-ids-file", "s", "--unseen-ids-file", "u", "--draw", "--seed", "1"],
        ["--tasks", "t", "--min-pairs", "0"],
        ["--tasks", "t", "--baseline", ""],
        ["--tasks", "t", "--run", ""],
    ],
)
def test_arguments_that_mean_nothing_are_usage_errors_and_leave_nothing(tmp_path: Path, arguments: list[str]) -> None:
    done = in_process("programbench", "gate", "--run", tmp_path / "r", "--reference", "x", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []
