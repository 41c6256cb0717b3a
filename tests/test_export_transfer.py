"""Bringing one archive across: shared where the file system can, and never a way back into the source."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.files import sha256_file
from obo_bench.programbench.exporting.transfer import NotTransferred, archive_sha256, transfer_archive
from tests.export_case import export
from tests.solved_run import CMATRIX, solved_run


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return solved_run(tmp_path / "run", {CMATRIX: "echo 1"}) / CMATRIX / "submission.tar.gz"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "submission.tar.gz"


@pytest.fixture
def btrfs(tmp_path: Path) -> Iterator[Path]:
    """A file system that can share extents."""
    maker = shutil.which("mkfs.btrfs")
    if maker is None:
        pytest.skip("mkfs.btrfs is not installed")
    image, place = tmp_path / "image", tmp_path / "disk"
    place.mkdir()
    with image.open("wb") as stream:
        stream.truncate(128 * 1024**2)
    subprocess.run([maker, "-q", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=False).returncode:
        pytest.skip("no file system can be mounted here: that needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_hard_link_is_the_very_file_and_survives_the_source(archive: Path, target: Path) -> None:
    sha256 = sha256_file(archive)
    brought = transfer_archive(archive, target, sha256)
    assert (brought.method, brought.sha256, brought.size) == ("hardlink", sha256, archive.stat().st_size)
    assert target.samefile(archive)
    replacement = archive.with_name("new")
    replacement.write_bytes(b"packed again")
    replacement.replace(archive)
    assert sha256_file(target) == sha256
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_extents_are_shared_where_the_file_system_can(archive: Path, btrfs: Path) -> None:
    source, target = btrfs / "source.tar.gz", btrfs / "submission.tar.gz"
    shutil.copy(archive, source)
    brought = transfer_archive(source, target, sha256_file(archive))
    assert brought.method == "reflink"
    assert not target.samefile(source)
    assert target.read_bytes() == archive.read_bytes()


def test_the_rest_of_a_killed_export_is_never_written_through(archive: Path, target: Path) -> None:
    """It may be a link to the source's own archive."""
    sha256 = sha256_file(archive)
    os.link(archive, target.with_name(f".{target.name}.incoming"))
    other = archive.with_name("other.tar.gz")
    shutil.copy(archive, other)
    transfer_archive(other, target, sha256)
    assert sha256_file(archive) == sha256
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_an_archive_that_was_replaced_meanwhile_is_caught_by_its_hash(archive: Path, target: Path) -> None:
    recorded = sha256_file(archive)
    archive.unlink()
    archive.write_bytes(b"another solve")
    target.write_bytes(b"what was there")
    with pytest.raises(NotTransferred, match=f"but {recorded} was recorded") as caught:
        transfer_archive(archive, target, recorded)
    assert caught.value.reason == "hash_differs"
    assert target.read_bytes() == b"what was there"
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_without_a_record_an_archive_must_be_whole(archive: Path, target: Path) -> None:
    whole = archive.read_bytes()
    archive.unlink()
    archive.write_bytes(whole[:-20])
    with pytest.raises(NotTransferred, match="no whole gzip file") as caught:
        transfer_archive(archive, target, None)
    assert caught.value.reason == "archive_unreadable"
    assert not target.exists()


def test_a_link_in_the_archives_place_counts_as_another_archive(archive: Path, target: Path) -> None:
    target.symlink_to(archive)
    assert archive_sha256(target) == ""
    assert archive_sha256(target, follow=True) == archive_sha256(archive) == sha256_file(archive)
    assert archive_sha256(target.with_name("nothing")) is None
    transfer_archive(archive, target, None)
    assert not target.is_symlink()
    assert archive.exists()


def test_submission_json_of_another_archive_does_not_stay(tmp_path: Path) -> None:
    run, out = solved_run(tmp_path / "run", {CMATRIX: "echo 1"}), tmp_path / "out"
    export(run, out)
    record, archive = out / CMATRIX / "submission.json", run / CMATRIX / "submission.tar.gz"
    good = record.read_bytes()
    record.write_bytes(good.replace(sha256_file(archive).encode(), b"0" * 64))
    assert export(run, out).numbers == (0, 1, 0, 0)
    assert record.read_bytes() == good
    (run / CMATRIX / "submission.json").write_bytes(good.replace(sha256_file(archive).encode(), b"0" * 64))
    record.write_bytes(b"{}")
    export(run, out)
    assert not record.exists(), "neither the source's nor the destination's belongs to the archive"
