"""Archive and record appear together; a fault or a kill at any step leaves nothing that counts as done and is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.core.files import sha256_file
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from tests.submission_trees import make_destination

KILLED = """
import os, sys
from pathlib import Path
from obo_bench.programbench.packaging.submission import package_workspace

steps, really, renamed = int(sys.argv[3]), os.fsync, Path.replace
def count():
    global steps
    steps -= 1
    if steps < 0:
        os._exit(9)
def fsync(descriptor):
    count()
    really(descriptor)
def replace(self, target):
    count()
    return renamed(self, target)
os.fsync, Path.replace = fsync, replace
package_workspace(Path(sys.argv[1]), Path(sys.argv[2]))
"""
"""Packs and dies before the numbered step that changes what is on disk."""


def pair(destination: Path) -> tuple[str, str]:
    """Return the hash of the archive, and the one in the record."""
    archive, record = destination / "submission.tar.gz", destination / "submission.json"
    recorded = json.loads(record.read_text())["sha256"] if record.exists() else ""
    return sha256_file(archive) if archive.exists() else "", recorded


def names(destination: Path) -> list[str]:
    return sorted(path.name for path in destination.iterdir())


def test_a_record_that_cannot_be_written_leaves_the_earlier_pair(
    workspace: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package_workspace(workspace, destination)
    earlier = pair(destination)
    (workspace / "more").write_text("x")
    (destination / ".submission.json.partial").symlink_to("/dev/full")
    with pytest.raises(SubmissionFailed, match="can't pack"):
        package_workspace(workspace, destination)
    (destination / ".submission.json.partial").unlink()
    really = os.fsync

    def full(descriptor: int) -> None:
        if "json" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(28, "No space left on device")
        really(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SubmissionFailed, match="No space left"):
        package_workspace(workspace, destination)
    assert pair(destination) == earlier
    assert names(destination) == ["submission.json", "submission.tar.gz"]


def test_an_archive_whose_record_cannot_get_its_name_does_not_stay(workspace: Path, destination: Path) -> None:
    (destination / "submission.json").mkdir()
    with pytest.raises(SubmissionFailed, match="can't pack"):
        package_workspace(workspace, destination)
    assert names(destination) == ["submission.json"]


def test_a_kill_at_any_step_leaves_no_older_archive_with_another_record(workspace: Path, tmp_path: Path) -> None:
    left: list[tuple[str, str]] = []
    destination = make_destination(tmp_path)
    package_workspace(workspace, destination)
    earlier = pair(destination)
    (workspace / "more").write_text("x")
    for step in range(10):
        status = subprocess.run(
            [sys.executable, "-c", KILLED, str(workspace), str(destination), str(step)], check=False, timeout=60
        ).returncode
        left.append(pair(destination))
        if status == 0:
            break
        assert status == 9
    later = left[-1]
    assert later != earlier
    assert later[0] == later[1]
    assert set(left) == {earlier, (later[0], earlier[1]), later}
    assert names(destination) == ["submission.json", "submission.tar.gz"]
