"""Packing real trees: what is kept arrives unchanged, what is left out is listed, and the workspace is only read."""

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from obo_bench.core.refusals import UsageError
from obo_bench.programbench.packaging.collection_rules import (
    CACHE_DIRECTORIES,
    EXCLUSION_TEXTS,
    PYTEST_FILES,
    CollectionRules,
    Exclusion,
)
from obo_bench.programbench.packaging.submission import SubmissionRecord, package_workspace
from obo_bench.programbench.solving.instruction import render_instruction
from tests.submission_trees import listing, reasons, unpack, without

REFERENCE = bytes(range(256)) * 40 + os.urandom(30_000)


def add_one_of_each_exclusion(root: Path) -> None:
    (root / "reference_executable").write_bytes(REFERENCE)
    (root / "executable").write_text("built")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]")
    (root / "src" / ".git").write_text("gitdir: elsewhere")
    (root / ".ouroboros").mkdir()
    for name in CACHE_DIRECTORIES:
        (root / "src" / name).mkdir()
        (root / "src" / name / "x").write_text("x")
    (root / "eval").mkdir()
    (root / "eval" / "run.sh").write_text("exit 0")
    for name in PYTEST_FILES:
        (root / name).write_text("x")
        (root / "src" / name).write_text("below the root nothing loads it")
    (root / "src" / "eval").mkdir()
    (root / "secret").mkdir()
    (root / "secret" / "plan").write_text("x")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(root)
        listener.bind("socket")
        os.chdir(here)
    (root / "out").symlink_to("/etc/passwd")
    (root / "up").symlink_to("src/../../instance")
    (root / "src" / "copy.bin").write_bytes(REFERENCE)
    (root / "src" / "hard").hardlink_to(root / "reference_executable")


EXPECTED_EXCLUSIONS = {
    "reference_executable": "reference",
    "executable": "built_program",
    ".git": "git_data",
    "src/.git": "git_data",
    ".ouroboros": "server_state",
    **{f"src/{name}": "cache" for name in CACHE_DIRECTORIES},
    "eval": "tests_directory",
    **dict.fromkeys(PYTEST_FILES, "pytest_setup"),
    "secret": "protected_path",
    "pipe": "special_file",
    "socket": "special_file",
    "out": "link_leaves_tree",
    "up": "link_leaves_tree",
    "src/copy.bin": "reference_copy",
    "src/hard": "reference_copy",
}


def test_each_rule_leaves_out_what_it_names_and_the_instruction_tells_it(workspace: Path, destination: Path) -> None:
    add_one_of_each_exclusion(workspace)
    paths = ("reference_executable", "/workspace/secret")
    before = listing(workspace)
    record = package_workspace(workspace, destination, protected_paths=paths)
    assert reasons(record) == EXPECTED_EXCLUSIONS
    assert {note.reason for note in record.excluded} == set(Exclusion) == set(EXCLUSION_TEXTS)
    assert listing(workspace) == before
    assert listing(unpack(destination)) == without(before, record)
    bullets = render_instruction(timeout_sec=60, protected_paths=paths)
    for text in EXCLUSION_TEXTS.values():
        assert f"* {text}" in bullets


def test_everything_else_is_source(workspace: Path, destination: Path) -> None:
    for name in ("build", "dist", "target", "node_modules", "src/executable", "sub/reference_executable", ".cache"):
        (workspace / name).mkdir(parents=True)
        (workspace / name / "file").write_text(name)
    for name in ("run.log", "x.tmp", ".gitignore", "core", "a.o", "src/.ouroboros"):
        (workspace / name).write_text(name)
    (workspace / "src" / "__pycache__").write_text("a file, not a cache")
    (workspace / "empty").mkdir()
    record = package_workspace(workspace, destination)
    assert record.excluded == ()
    assert listing(unpack(destination)) == listing(workspace)


def test_the_same_tree_gives_the_same_bytes(workspace: Path, destination: Path, tmp_path: Path) -> None:
    (workspace / "large").write_bytes(os.urandom(700_000) + b"text " * 700_000)
    again = tmp_path / "again"
    again.mkdir()
    assert package_workspace(workspace, destination) == package_workspace(workspace, again)
    assert (destination / "submission.tar.gz").read_bytes() == (again / "submission.tar.gz").read_bytes()


def test_the_record_on_disk_is_the_one_returned(workspace: Path, destination: Path) -> None:
    record = package_workspace(workspace, destination)
    content = json.loads((destination / "submission.json").read_text())
    assert content["schema"] == "obo_bench.submission.v1"
    assert SubmissionRecord.model_validate(content) == record
    data = (destination / "submission.tar.gz").read_bytes()
    assert (record.sha256, record.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert sorted(path.name for path in destination.iterdir()) == ["submission.json", "submission.tar.gz"]


def test_names_that_are_not_text_can_be_recorded(workspace: Path, destination: Path) -> None:
    os.mkfifo(os.fsencode(workspace) + b"/pipe-\xff")
    assert reasons(package_workspace(workspace, destination)) == {"pipe-\\xff": "special_file"}


def test_a_hard_link_to_a_protected_file_is_left_out(workspace: Path, destination: Path) -> None:
    (workspace / "key").write_text("secret")
    (workspace / "src" / "hard").hardlink_to(workspace / "key")
    record = package_workspace(workspace, destination, protected_paths=("key",))
    assert reasons(record) == {"key": "protected_path", "src/hard": "reference_copy"}


@pytest.mark.parametrize("path", ["", " ", ".", "/workspace", "/workspace/", "x/..", "../workspace"])
def test_the_whole_workspace_cannot_be_protected(path: str) -> None:
    with pytest.raises(UsageError, match="whole workspace"):
        CollectionRules.protecting([path])


def test_protected_paths_are_read_as_the_server_reads_them() -> None:
    paths = ["/workspace/a/", "b/./c", "./d", "/etc/passwd", "../x", "/workspaces/x", "/workspace/a"]
    assert CollectionRules.protecting(paths).protected == ("a", "b/c", "d")
