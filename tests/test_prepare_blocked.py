"""`prepare` with a container that is no cleanroom or a workspace that cannot be a task: named, and left as it is."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.cleanroom_spec import NONCE_LABEL
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.programbench.preparing.container import inspect_container
from obo_bench.programbench.preparing.options import PrepareOptions
from obo_bench.programbench.preparing.preparation import Blocked, Preparation
from obo_bench.programbench.preparing.reference import settle_reference
from tests.conftest import Done, git
from tests.hand_made import AGENTS, FIT, IID, IMAGE, Hand, by_hand, docker, picture, reference

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]
OTHER_IMAGE = "programbench/practice_1776_runlength.0000002:task_cleanroom_v6"


@pytest.fixture
def hand(tmp_path: Path, checkout: Path, practice_env: dict[str, str]) -> Iterator[Hand]:
    with by_hand(tmp_path, checkout, practice_env) as made:
        yield made


def assert_blocked(hand: Hand, done: Done, reason: str) -> str:
    """The row and the ending agree, nothing was packaged and nothing of ours left; returns what was told."""
    manifest = done.manifest
    assert (done.status, manifest["extra"]["outcome"]) == (1, "instances_failed"), done.stderr
    row = hand.rows()[-1]
    assert (row.status, row.reason_code, row.prediction_written) == ("blocked", reason, False)
    assert done.envelope["result"]["reason_code"] == reason
    assert not (hand.directory / "submission.tar.gz").exists()
    assert docker("ps", "--all", "--quiet", "--filter", f"label={NONCE_LABEL}={manifest['harness']['run_nonce']}") == ""
    return str(row.error)


def replaced(hand: Hand) -> None:
    hand.start()
    shutil.move(hand.workspace, hand.base / "old")
    shutil.copytree(hand.base / "old", hand.workspace)


def elsewhere(hand: Hand) -> None:
    (hand.base / "other").mkdir()
    hand.start(mounted=hand.base / "other")


def stopped(hand: Hand) -> None:
    hand.start()
    docker("kill", hand.name)


def paused(hand: Hand) -> None:
    hand.start()
    docker("pause", hand.name)


def connected(hand: Hand) -> None:
    """The network mode stays what it was at the start."""
    hand.start(*FIT)
    docker("network", "disconnect", "none", hand.name)
    docker("network", "connect", "bridge", hand.name)


def by_id(hand: Hand) -> None:
    hand.start()
    hand.name = docker("inspect", "--format", "{{.Id}}", hand.name)[:12]


UNFIT: dict[str, tuple[Callable[[Hand], None], str]] = {
    "stopped": (stopped, "it is exited (exit 137)"),
    "paused": (paused, "it is paused"),
    "bridge": (lambda hand: hand.start("--cap-drop", "SYS_PTRACE"), "its network is 'default' ['bridge'], not 'none'"),
    "connected later": (connected, "['bridge'], not 'none'"),
    "other image": (lambda hand: hand.start(image=OTHER_IMAGE), "its image is 'programbench/practice_1776_runlength"),
    "traceable": (lambda hand: hand.start("--network", "none"), "capability SYS_PTRACE was not dropped"),
    "other workspace": (elsewhere, "not --workspace"),
    "replaced workspace": (replaced, "is another one than"),
    "named by its id": (by_id, "name it by that"),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with contextlib.closing(connect_engine()) as connected:
        yield connected


@pytest.mark.parametrize("case", UNFIT)
def test_a_container_that_is_no_cleanroom_is_named_for_it_and_left_alone(hand: Hand, engine: Engine, case: str) -> None:
    start, told = UNFIT[case]
    hand.workspace.mkdir()
    start(hand)
    state = docker("inspect", "--format", "{{json .State}}", hand.name)
    with pytest.raises(Blocked) as blocked:
        inspect_container(engine, hand.name, IMAGE, hand.workspace)
    assert blocked.value.reason == "cleanroom_preflight_failed"
    assert told in str(blocked.value)
    assert docker("inspect", "--format", "{{json .State}}", hand.name) == state


def test_an_image_is_known_by_its_id_as_well(hand: Hand, engine: Engine) -> None:
    hand.workspace.mkdir()
    image = docker("image", "inspect", "--format", "{{.Id}}", IMAGE)
    hand.start(image=image)
    assert inspect_container(engine, hand.name, IMAGE, hand.workspace).image.id == image


def test_a_missing_and_an_unfit_container_block_before_the_workspace_is_touched(hand: Hand) -> None:
    hand.fresh()
    before = picture(hand.workspace)
    assert "there is no container" in assert_blocked(hand, hand.prepare(), "cleanroom_preflight_failed")
    hand.start("--cap-add", "SYS_PTRACE", image=OTHER_IMAGE)
    assert_blocked(hand, hand.prepare(), "cleanroom_preflight_failed")
    assert len(hand.rows()[-1].details["differences"]) == 3
    assert hand.rows()[-1].details["container"]["network_mode"] == "default"
    assert picture(hand.workspace) == before
    assert not (hand.workspace / ".git").exists()


def neither(workspace: Path) -> None:
    (workspace / "executable").unlink()


def link(workspace: Path) -> None:
    neither(workspace)
    (workspace / "executable").symlink_to("/bin/true")


def directory(workspace: Path) -> None:
    neither(workspace)
    (workspace / "executable").mkdir()


def fifo(workspace: Path) -> None:
    neither(workspace)
    os.mkfifo(workspace / "executable")


def agents(workspace: Path) -> None:
    neither(workspace)
    (workspace / "executable").write_bytes(AGENTS)


def reference_directory(workspace: Path) -> None:
    (workspace / "reference_executable").mkdir()


def dangling(workspace: Path) -> None:
    (workspace / "reference_executable").symlink_to("/nowhere/reference_executable")


def no_commit(workspace: Path) -> None:
    git(workspace, "init", "-q")


def git_link(workspace: Path) -> None:
    (workspace.parent / "elsewhere").mkdir()
    git(workspace.parent / "elsewhere", "init", "-q")
    (workspace / ".git").symlink_to(workspace.parent / "elsewhere" / ".git")


UNUSABLE: dict[str, tuple[Callable[[Path], None], str]] = {
    "neither": (neither, "has neither 'reference_executable' nor 'executable'"),
    "a link": (link, "'executable' is a symbolic link"),
    "a directory": (directory, "'executable' is a directory"),
    "a FIFO": (fifo, "'executable' is a FIFO"),
    "the agent's": (agents, "is not proven to be it (its bytes are not those of the image's)"),
    "reference is a directory": (reference_directory, "'reference_executable' is a directory"),
    "reference leads nowhere": (dangling, "no program that can be run in the container"),
}
HISTORIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no commit": (no_commit, "has no commit"),
    "a link": (git_link, "is no directory"),
}


def preparation_of(hand: Hand, engine: Engine) -> Preparation:
    """What the step for the reference needs, without an admitted invocation around it."""
    options = PrepareOptions(
        repo_dir=hand.checkout, run_root=hand.directory, instance_id=IID, workspace=hand.workspace,
        instruction_file=hand.instruction, container_name=hand.name, settings_path=hand.base / "none",
    )  # fmt: skip
    unused = cast("Any", None)
    instance = cast("Any", SimpleNamespace(instance_id=IID))
    return Preparation(unused, options, SilentReporter(), engine, instance, "", unused, "nonce")


def test_a_workspace_without_a_proven_reference_is_blocked_and_left_alone(hand: Hand, engine: Engine) -> None:
    hand.workspace.mkdir()
    hand.directory.mkdir(parents=True)
    hand.start()
    found = inspect_container(engine, hand.name, IMAGE, hand.workspace)
    for spoil, told in UNUSABLE.values():
        hand.empty()
        hand.fill()
        spoil(hand.workspace)
        before = picture(hand.workspace)
        with pytest.raises(Blocked) as blocked:
            settle_reference(preparation_of(hand, engine), found)
        assert blocked.value.reason == "workspace_prepare_failed"
        assert told in str(blocked.value)
        assert picture(hand.workspace) == before


def test_a_history_that_cannot_be_completed_is_blocked_with_what_to_do(hand: Hand) -> None:
    hand.workspace.mkdir()
    hand.start()
    for spoil, told in HISTORIES.values():
        hand.empty()
        hand.fill()
        spoil(hand.workspace)
        error = assert_blocked(hand, hand.prepare(), "workspace_prepare_failed")
        assert told in error
        assert "move" in error
        assert (hand.workspace / "reference_executable").read_bytes() == reference()


def test_a_link_in_the_place_of_the_new_history_leads_nowhere(hand: Hand) -> None:
    outside = hand.base / "outside"
    outside.mkdir()
    hand.fresh()
    (hand.workspace / ".obo-bench-git").symlink_to(outside)
    hand.start()
    assert hand.prepare().status == 0
    assert not list(outside.iterdir())
    assert not (hand.workspace / ".git").is_symlink()


def test_a_repository_of_an_agent_runs_nothing_here(hand: Hand) -> None:
    hand.fresh()
    git(hand.workspace, "init", "-q")
    git(hand.workspace, "commit", "-q", "--allow-empty", "-m", "the agent's")
    trap, mark = hand.base / "trap", hand.base / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    trap.chmod(0o755)
    (hand.workspace / ".gitattributes").write_text("* filter=trap\n")
    for name in ("core.fsmonitor", "filter.trap.clean", "core.sshCommand", "core.pager", "alias.rev-parse"):
        git(hand.workspace, "config", name, f"{'!' if name.startswith('alias') else ''}{trap}")
    shutil.copy(trap, hand.workspace / ".git" / "hooks" / "pre-commit")
    hand.start()
    mark.unlink(missing_ok=True)
    assert hand.prepare().status == 0
    assert not mark.exists()
    subprocess.run(["git", "-C", hand.workspace, "status"], capture_output=True, check=False)
    assert mark.exists(), "the trap works"
    assert git(hand.workspace, "config", "--file", ".git/config", "user.name") == "agent"
    assert "/reference_executable" in (hand.workspace / ".git" / "info" / "exclude").read_text().splitlines()


def test_a_reference_that_is_linked_or_another_one_is_told_and_refused_only_when_strict(hand: Hand) -> None:
    hand.fresh()
    hand.start()
    place = hand.workspace / "reference_executable"
    place.symlink_to("/bin/true")
    assert hand.prepare().status == 0
    assert hand.rows()[-1].details["reference"] == "linked"
    place.unlink()
    place.write_bytes(AGENTS)
    place.chmod(0o755)
    done = hand.prepare()
    assert (done.status, hand.rows()[-1].details["reference"]) == (0, "differs_from_image")
    assert "is it the workspace of this instance?" in done.stderr
    assert place.read_bytes() == AGENTS
    kept = hand.rows()[-1].submission_sha256
    assert hand.prepare("--strict").status == 1
    last = hand.rows()[-1]
    assert (last.reason_code, last.prediction_written) == ("workspace_prepare_failed", True)
    assert last.submission_sha256 == kept


def test_a_tree_that_cannot_be_packed_is_a_failed_submission(hand: Hand) -> None:
    hand.fresh()
    hand.start()
    hand.directory.joinpath("submission.tar.gz", "in the way").mkdir(parents=True)
    done = hand.prepare()
    assert (done.status, done.manifest["extra"]["failed_count"]) == (1, 1)
    row = hand.rows()[-1]
    assert (row.status, row.reason_code, row.submission_sha256) == ("failed", "submission_failed", "")
