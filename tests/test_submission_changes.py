"""Trees that can't be read, or change while they are, end in a whole archive or in a typed failure."""

import contextlib
import gzip
import hashlib
import os
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.packaging import submission as submission_module
from obo_bench.programbench.packaging.archive import SubmissionCorrupt, verify_archive
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.packaging.tree import TreeChangedError, walk
from tests.submission_trees import as_ordinary_user, reasons, unpack


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that the ordinary user may enter."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        yield place


def test_unreadable_things_fail_by_name_and_leave_nothing(open_place: Path) -> None:
    workspace, destination = open_place / "workspace", open_place / "instance"
    with as_ordinary_user():
        workspace.mkdir()
        destination.mkdir()
        (workspace / "fine").write_text("x")
        (workspace / "executable").write_text("not read, so no harm")
        (workspace / "executable").chmod(0o111)
        (destination / "submission.tar.gz").write_text("an earlier one")
        for name in ("sub", "sub/deeper"):
            (workspace / name).mkdir()
        locked = workspace / "sub" / "deeper" / "locked"
        locked.write_text("x")
        for path, told in ((locked, "sub/deeper/locked"), (locked.parent, "sub/deeper")):
            path.chmod(0)
            with pytest.raises(SubmissionFailed, match=f"'{told}': Permission denied"):
                package_workspace(workspace, destination)
            path.chmod(0o755 if path.is_dir() else 0o644)
        assert [path.name for path in destination.iterdir()] == ["submission.tar.gz"]
        assert (destination / "submission.tar.gz").read_text() == "an earlier one"
        assert reasons(package_workspace(workspace, destination)) == {"executable": "built_program"}
    assert (unpack(destination) / "sub" / "deeper" / "locked").read_text() == "x"


def test_a_missing_workspace_or_destination_is_a_typed_failure(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(SubmissionFailed, match="No such file"):
        package_workspace(tmp_path / "absent", tmp_path)
    with pytest.raises(SubmissionFailed, match="No such file"):
        package_workspace(workspace, tmp_path / "absent")
    assert list(tmp_path.iterdir()) == [workspace]


def test_a_growing_log_is_stored_as_far_as_it_was(workspace: Path, destination: Path) -> None:
    log = workspace / "server.log"
    log.write_bytes(b"line\n" * 1_000_000)
    stop = threading.Event()

    def append() -> None:
        with log.open("ab") as stream:
            while not stop.is_set():
                stream.write(b"line\n" * 100)
                stream.flush()
                time.sleep(0.0005)

    writer = threading.Thread(target=append)
    writer.start()
    try:
        package_workspace(workspace, destination)
    finally:
        stop.set()
        writer.join()
    stored = (unpack(destination) / "server.log").read_bytes()
    assert len(stored) >= 5_000_000
    assert log.read_bytes().startswith(stored)


def test_a_file_that_is_rewritten_all_the_time_is_a_typed_failure(workspace: Path, destination: Path) -> None:
    restless = workspace / "restless"
    restless.write_bytes(os.urandom(8_000_000))
    stop = threading.Event()

    def rewrite() -> None:
        with restless.open("r+b") as stream:
            while not stop.is_set():
                stream.seek(6_000_000)
                stream.write(os.urandom(8))
                stream.flush()

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        with pytest.raises(SubmissionFailed, match="'restless' kept changing"):
            package_workspace(workspace, destination)
    finally:
        stop.set()
        writer.join()
    assert list(destination.iterdir()) == []


def test_directories_swapped_for_links_never_lead_outside(workspace: Path, destination: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "treasure").write_text("do not take")
    for number in range(300):
        (workspace / f"d{number:03}").mkdir()
        (workspace / f"d{number:03}" / "file").write_text("mine")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            victim = workspace / "d150"
            with contextlib.suppress(OSError):
                victim.rename(workspace / "d150-away")
                victim.symlink_to(outside)
                victim.unlink()
                (workspace / "d150-away").rename(victim)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(10):
            with contextlib.suppress(SubmissionFailed):
                package_workspace(workspace, destination)
                assert "treasure" not in subprocess.run(
                    ["tar", "-tzf", destination / "submission.tar.gz"], check=True, capture_output=True, text=True,
                    timeout=60,
                ).stdout  # fmt: skip
    finally:
        stop.set()
        swapper.join()


def test_what_becomes_something_else_between_two_steps_is_noticed(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "treasure").touch()

    def look(path: str, instead: Path | None) -> None:
        for entry in walk(workspace, lambda _: True):
            if entry.path == path:
                (workspace / path).rename(tmp_path / f"moved-{path}")
                if instead:
                    (workspace / path).symlink_to(instead)
                else:
                    (workspace / path).write_text("another file")
                if path == "compile.sh":
                    entry.open()

    for path, instead in (("compile.sh", tmp_path / "outside" / "treasure"), ("src", tmp_path / "outside")):
        with pytest.raises(TreeChangedError, match=path):
            look(path, instead)
        (workspace / path).unlink()
        (tmp_path / f"moved-{path}").rename(workspace / path)
    with pytest.raises(TreeChangedError, match=r"compile\.sh"):
        look("compile.sh", None)


def test_a_full_disk_is_a_typed_failure_that_leaves_nothing(workspace: Path, destination: Path) -> None:
    (workspace / "large").write_bytes(os.urandom(2_000_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(SubmissionFailed, match=r"instance': File too large; .*free space"):
            package_workspace(workspace, destination)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(destination.iterdir()) == []


def test_an_interrupted_attempt_leaves_nothing(
    workspace: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(submission_module, "verify_archive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        package_workspace(workspace, destination)
    assert list(destination.iterdir()) == []


def test_damage_is_found(workspace: Path, destination: Path) -> None:
    record = package_workspace(workspace, destination)
    archive = destination / "submission.tar.gz"
    verify_archive(archive, record.sha256)
    whole = archive.read_bytes()
    with pytest.raises(SubmissionCorrupt, match="was recorded"):
        verify_archive(archive, "0" * 64)
    for damaged in (
        whole[:-1],
        whole[:-9],
        whole[:40],
        b"",
        b"\0" * 100,
        whole[:60] + bytes([whole[60] ^ 0xFF]) + whole[61:],
    ):
        archive.write_bytes(damaged)
        with pytest.raises(SubmissionCorrupt):
            verify_archive(archive, record.sha256)
        if damaged:
            with pytest.raises(SubmissionCorrupt, match="to its end"):
                verify_archive(archive, hashlib.sha256(damaged).hexdigest())
    archive.unlink()
    with pytest.raises(SubmissionCorrupt, match="No such file"):
        verify_archive(archive, record.sha256)


def test_archives_of_several_members_are_whole_as_well(workspace: Path, destination: Path) -> None:
    package_workspace(workspace, destination)
    archive = destination / "submission.tar.gz"
    content = gzip.decompress(archive.read_bytes())
    two = gzip.compress(content[:5000]) + gzip.compress(content[5000:])
    for whole in (two, two + bytes(700)):
        archive.write_bytes(whole)
        verify_archive(archive, hashlib.sha256(whole).hexdigest())
    for damaged in (two + b"rest", two[:-1]):
        archive.write_bytes(damaged)
        with pytest.raises(SubmissionCorrupt, match="to its end"):
            verify_archive(archive, hashlib.sha256(damaged).hexdigest())
