"""The practice tasks, the overlay that shows them to the official package, and the seed checkout."""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from obo_bench.practice.branch_files import archive_files
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.setup_error import PracticeSetupError
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask, task_by_id

each_task = pytest.mark.parametrize("task", PRACTICE_TASKS, ids=lambda task: task.name)


def overlay_python(environment: dict[str, str], code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def snapshot(top: Path) -> dict[str, str]:
    return {
        str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in top.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_tasks_differ() -> None:
    assert len({task.language for task in PRACTICE_TASKS}) >= 2
    assert {task.compiled for task in PRACTICE_TASKS} == {True, False}
    assert {task.difficulty for task in PRACTICE_TASKS} == {"easy", "medium", "hard"}
    assert max(len(task.branches) for task in PRACTICE_TASKS) > 1
    names = [branch.name for task in PRACTICE_TASKS for branch in task.branches]
    assert len(set(names)) == len(names)


@each_task
def test_a_task_has_five_to_twelve_tests_and_some_probes(task: PracticeTask) -> None:
    tests = [branch.test_name(check) for branch in task.branches for check in branch.checks]
    assert 5 <= len(tests) <= 12
    assert len(set(tests)) == len(tests)
    assert task.probes


@each_task
def test_no_solution_holds_the_reference(task: PracticeTask) -> None:
    reference = task.reference_source()
    for variant in ("solved", "partial", "broken-build"):
        files = task.solution(variant)
        assert files["compile.sh"][1] == 0o755
        assert reference not in [content for content, _ in files.values()]
        own_lines = {line for content, _ in files.values() for line in content.splitlines() if len(line) > 40}
        assert not own_lines & set(reference.splitlines())


def test_unknown_names_are_told() -> None:
    assert task_by_id("practice__wordtally.0000001") is PRACTICE_TASKS[0]
    assert task_by_id("practice__wordtally.0000009") is None
    with pytest.raises(KeyError, match="solved, partial or broken-build"):
        PRACTICE_TASKS[0].solution("perfect")


@each_task
def test_the_test_modules_compile_and_hold_the_listed_functions(task: PracticeTask) -> None:
    for branch in task.branches:
        source = archive_files(branch)[f"eval/tests/{branch.module}.py"][0]
        namespace: dict[str, object] = {}
        exec(compile(source, branch.module, "exec"), namespace)
        assert {name for name in namespace if name.startswith("test_")} == {check.name for check in branch.checks}


def test_the_overlay_shows_the_practice_tasks_and_nothing_else(tmp_path: Path) -> None:
    environment = write_overlay(tmp_path, PRACTICE_TASKS)
    code = "import json; from programbench.utils.load_data import load_all_instances as load; print(json.dumps(load()))"
    instances = json.loads(overlay_python(environment, code))
    assert [each["instance_id"] for each in instances] == sorted(task.instance_id for task in PRACTICE_TASKS)
    for instance in instances:
        task = task_by_id(instance["instance_id"])
        assert task is not None
        assert (instance["language"], instance["difficulty"]) == (task.language, task.difficulty)
        assert instance["commit"].startswith(task.instance_id[-7:])
        listed = {name: branch["tests"] for name, branch in instance["branches"].items()}
        assert listed == {branch.name: [branch.test_name(check) for check in branch.checks] for branch in task.branches}
        for branch in task.branches:
            archive = Path(environment["PROGRAMBENCH_BLOB_DIR"], task.instance_id, "tests", f"{branch.name}.tar.gz")
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive.read_bytes()))) as members:
                assert members.getmember("eval/run.sh").mode == 0o755


def test_the_overlay_is_the_same_every_time_and_everywhere(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        (first, *others) = pool.map(lambda _: write_overlay(tmp_path / "one", PRACTICE_TASKS), range(4))
    assert all(other == first for other in others)
    write_overlay(tmp_path / "two", PRACTICE_TASKS)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
    assert len(list((tmp_path / "one").iterdir())) == 1


def test_other_tasks_give_another_overlay_and_leave_the_first(tmp_path: Path) -> None:
    first = write_overlay(tmp_path, PRACTICE_TASKS)
    changed = dataclasses.replace(PRACTICE_TASKS[0], difficulty="hard")
    second = write_overlay(tmp_path, [changed])
    assert first["PROGRAMBENCH_BLOB_DIR"] != second["PROGRAMBENCH_BLOB_DIR"]
    assert Path(first["PROGRAMBENCH_BLOB_DIR"]).is_dir()


def test_the_overlay_keeps_the_callers_python_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    first = write_overlay(tmp_path, PRACTICE_TASKS)["PYTHONPATH"]
    assert first.endswith("/pythonpath:/somewhere")
    monkeypatch.setenv("PYTHONPATH", first)
    assert write_overlay(tmp_path, PRACTICE_TASKS)["PYTHONPATH"] == first


def git(checkout: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()


def test_the_seed_is_a_clean_checkout_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    seed = make_seed_checkout(tmp_path / "deep" / "seed", "6.75.0")
    monkeypatch.undo()
    head = git(seed, "rev-parse", "HEAD")
    assert (seed / "VERSION").read_text() == "6.75.0\n"
    assert git(seed, "status", "--porcelain") == ""
    assert git(seed, "log", "--format=%an %ae") == "practice practice@localhost"
    assert make_seed_checkout(seed, "6.75.0") == seed
    assert git(seed, "rev-parse", "HEAD") == head
    assert git(make_seed_checkout(tmp_path / "other"), "rev-parse", "HEAD") == head


def test_two_may_make_the_seed_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        seeds = list(pool.map(lambda _: make_seed_checkout(tmp_path / "seed"), range(3)))
    assert set(seeds) == {tmp_path / "seed"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["seed"]


def test_a_seed_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    seed = make_seed_checkout(tmp_path / "seed")
    with pytest.raises(PracticeSetupError, match=r"'6\.75\.0', not '6\.80\.0'"):
        make_seed_checkout(seed, "6.80.0")
    (seed / "VERSION").write_text("changed\n")
    with pytest.raises(PracticeSetupError, match=r"not clean \(M VERSION\)$"):
        make_seed_checkout(seed)
    (tmp_path / "plain").mkdir()
    with pytest.raises(PracticeSetupError, match="no git checkout"):
        make_seed_checkout(tmp_path / "plain")
