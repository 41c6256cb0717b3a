"""The practice images on the real engine, and the official evaluator's word on every scripted solution."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.branch_files import archive_files
from obo_bench.practice.docker_cli import docker
from obo_bench.practice.engine_setup import drop_stale_pid_file, ensure_engine, start_daemon
from obo_bench.practice.images import ensure_images, image_reference
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.setup_error import PracticeSetupError
from obo_bench.practice.tarball import tar_bytes
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask

each_task = pytest.mark.parametrize("task", PRACTICE_TASKS, ids=lambda task: task.name)
VARIANTS = ("solved", "partial", "broken-build")


def pack(files: dict[str, tuple[bytes, int]], target: Path) -> None:
    target.parent.mkdir(parents=True)
    with tarfile.open(target, "w:gz") as archive:
        top = tarfile.TarInfo("./")
        top.type, top.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(top)
        for path, (content, mode) in files.items():
            member = tarfile.TarInfo(f"./{path}")
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def images() -> None:
    ensure_images(PRACTICE_TASKS, SilentReporter())


@pytest.fixture(scope="module")
def verdicts(images: None, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """The eval.json of every task and variant, from one call of the official command."""
    top = tmp_path_factory.mktemp("practice")
    for variant in VARIANTS:
        for task in PRACTICE_TASKS:
            pack(dict(task.solution(variant)), top / variant / task.instance_id / "submission.tar.gz")
    environment = {
        **os.environ,
        **write_overlay(top / "overlay", PRACTICE_TASKS),
        "PROGRAMBENCH_DOCKER_CPUS": str(os.cpu_count()),
    }
    command = [str(Path(sys.executable).with_name("programbench")), "eval", *VARIANTS, "-w", "2", "-b", "2"]
    subprocess.run(command, cwd=top, env=environment, capture_output=True, timeout=240, check=True)
    return {
        (task.instance_id, variant): json.loads(
            (top / variant / task.instance_id / f"{task.instance_id}.eval.json").read_bytes()
        )
        for task in PRACTICE_TASKS
        for variant in VARIANTS
    }


def counted(task: PracticeTask, verdict: dict[str, Any]) -> list[bool]:
    """Whether each test that counts has passed; a test that is not listed counts as well."""
    ignored = {branch.test_name(check) for branch in task.branches for check in branch.checks if check.ignored}
    return [row["status"] == "passed" for row in verdict["test_results"] if row["name"] not in ignored]


@pytest.mark.docker
@each_task
def test_the_solved_variant_passes_every_test(task: PracticeTask, verdicts: dict[Any, dict[str, Any]]) -> None:
    verdict = verdicts[task.instance_id, "solved"]
    assert (verdict["error_code"], verdict["test_branch_errors"], verdict["warnings"]) == (None, {}, [])
    expected = sum(not check.ignored for branch in task.branches for check in branch.checks)
    assert counted(task, verdict) == [True] * expected


@pytest.mark.docker
@each_task
def test_the_partial_variant_passes_some_tests(task: PracticeTask, verdicts: dict[Any, dict[str, Any]]) -> None:
    verdict = verdicts[task.instance_id, "partial"]
    assert verdict["error_code"] is None
    assert set(counted(task, verdict)) == {True, False}


@pytest.mark.docker
@each_task
def test_the_broken_build_does_not_compile(task: PracticeTask, verdicts: dict[Any, dict[str, Any]]) -> None:
    assert verdicts[task.instance_id, "broken-build"]["error_code"] == "compile_failed"


@pytest.mark.docker
@each_task
def test_the_reference_agrees_with_its_tests(task: PracticeTask, images: None) -> None:
    files = {path: entry for branch in task.branches for path, entry in archive_files(branch).items()}
    script = "tar -xf - && ./eval/run.sh >&2; cat eval/results.xml"
    report = docker(
        *("run", "--rm", "--interactive", "--network", "none", image_reference(task.instance_id), "bash", "-c", script),
        stdin=tar_bytes(files),
        timeout=60,
    )
    outcome = {case.attrib["name"]: len(case) == 0 for case in ET.fromstring(report).iter("testcase")}
    assert outcome == {check.name: not check.ignored for branch in task.branches for check in branch.checks}


@pytest.mark.docker
@each_task
def test_the_workspace_is_the_agents_but_the_reference_is_roots(task: PracticeTask, images: None) -> None:
    script = (
        "stat -c '%u %a' executable; stat -c %u . .git docs docs/README.md; cat executable >/dev/null 2>&1; echo $?; "
        "./executable no-such-command </dev/null >/dev/null 2>&1; echo $?; "
        "git log --format=%s; git status --porcelain; pwd; ls -A"
    )
    user = ("--user", "1000:1000", "--cap-drop", "ALL")
    lines = docker("run", "--rm", *user, image_reference(task.instance_id), "bash", "-c", script).split("\n")
    mode, readable = ("0 111", "1") if task.compiled else ("0 555", "0")
    assert lines[:7] == [mode, *["1000"] * 4, readable, "2"]
    assert lines[7:] == ["Practice task", "/workspace", ".git", ".gitignore", "docs", "executable", ""]


@pytest.mark.docker
def test_an_up_to_date_image_is_left_alone(images: None) -> None:
    names = [image_reference(task.instance_id) for task in PRACTICE_TASKS]
    before = docker("image", "inspect", "--format", "{{.Id}} {{.Created}}", *names)
    ensure_images(PRACTICE_TASKS, SilentReporter())
    assert docker("image", "inspect", "--format", "{{.Id}} {{.Created}}", *names) == before


@pytest.mark.docker
def test_a_failed_build_leaves_nothing(images: None) -> None:
    broken = dataclasses.replace(
        PRACTICE_TASKS[0], instance_id="practice__wordtally.fffffff", reference="../../broken-build/main.c"
    )
    with pytest.raises(PracticeSetupError, match=r"`docker run` failed.*expected"):
        ensure_images([broken], SilentReporter())
    assert docker("image", "ls", "--quiet", image_reference(broken.instance_id)) == ""
    assert docker("ps", "--all", "--quiet", "--filter", "name=obo-bench-practice-") == ""


@pytest.mark.docker
def test_a_changed_recipe_replaces_the_image(images: None) -> None:
    first = dataclasses.replace(PRACTICE_TASKS[0], instance_id="practice__wordtally.eeeeeee")
    second = dataclasses.replace(first, reference="../../runlength/reference/runlength.c")
    name = image_reference(first.instance_id)
    try:
        ensure_images([first], SilentReporter())
        old = docker("image", "inspect", "--format", "{{.Id}}", name).strip()
        ensure_images([second], SilentReporter())
        assert docker("image", "inspect", "--format", "{{.Id}}", name).strip() != old
        with pytest.raises(PracticeSetupError, match="No such image"):
            docker("image", "inspect", old)
    finally:
        docker("image", "rm", name)


@pytest.mark.docker
def test_an_engine_that_answers_is_left_alone() -> None:
    ensure_engine(setup=False, reporter=SilentReporter())
    ensure_engine(setup=True, reporter=SilentReporter())


def test_a_daemon_gets_a_session_of_its_own(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        daemon = start_daemon(["sh", "-c", "echo started; exec sleep 30"], log)
    try:
        assert os.getsid(daemon) == daemon
        while not (tmp_path / "log").read_bytes():
            time.sleep(0.01)
        assert (tmp_path / "log").read_text() == "started\n"
    finally:
        os.kill(daemon, signal.SIGKILL)
        os.waitpid(daemon, 0)


def test_without_an_engine_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    for setup, remedy in ((False, "--setup"), (True, "DOCKER_HOST")):
        with pytest.raises(PreflightRefused, match="no container engine answers") as refused:
            ensure_engine(setup=setup, reporter=SilentReporter())
        assert refused.value.reason == "engine_unreachable"
        assert remedy in refused.value.remedy
    with pytest.raises(PreflightRefused, match="no container engine answers"):
        ensure_images(PRACTICE_TASKS, SilentReporter())


def test_the_pid_file_of_a_dead_daemon_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "docker.pid"
    for stale in (str(os.getpid()), "4194399", "not a number"):
        file.write_text(stale)
        drop_stale_pid_file(file)
        assert not file.exists(), stale
    drop_stale_pid_file(file)
