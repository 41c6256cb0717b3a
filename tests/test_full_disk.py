"""Disks that are full or read-only, and limits on files: real ones; what was there stays whole."""

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.core.files import write_json
from obo_bench.core.ledger import LedgerUnwritable, read_rows
from tests.test_ledger import A, ledger, row

Mount = Callable[..., Path]

FILL_UP = """
import sys
from pathlib import Path
from obo_bench.core.ledger import LedgerUnwritable
from tests.test_ledger import ledger, row
appended = 0
try:
    while True:
        ledger(Path(sys.argv[1])).append(row(error="e" * 900))
        appended += 1
except LedgerUnwritable as error:
    print(appended, error.errno)
"""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(options: str = "size=64k") -> Path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=False)
        if done.returncode:
            pytest.skip("no file system can be mounted here: that needs root")
        return place

    yield mounted
    subprocess.run(["umount", str(place)], check=False, capture_output=True)


def numbers(path: Path) -> list[int]:
    return [found.seq for found in read_rows(path)]


def fill(disk: Path) -> Path:
    """Leave so little room that no whole row fits in."""
    stuffing = disk / "stuffing"
    with contextlib.suppress(OSError), stuffing.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 512)
    return stuffing


def append_for_ever(root: Path) -> None:
    while True:
        ledger(root).append(row(error="e" * 900))


def test_a_full_disk_is_a_typed_error_and_what_was_there_stays(mount: Mount) -> None:
    disk = mount()
    (disk / A).mkdir()
    for _ in range(3):
        ledger(disk).append(row())
    stuffing = fill(disk)
    with pytest.raises(LedgerUnwritable) as caught:
        append_for_ever(disk)
    assert caught.value.errno == errno.ENOSPC
    assert str(disk) in str(caught.value)
    root, copy = disk / "result_index.jsonl", disk / A / "result_index.jsonl"
    kept = numbers(root)
    assert kept == list(range(1, len(kept) + 1))
    assert len(numbers(copy)) >= len(kept) - 1

    stuffing.unlink()
    written = ledger(disk).append(row("other"))
    assert written.seq == len(kept) + 1
    assert numbers(root) == [*kept, written.seq]
    assert numbers(copy) == kept
    assert [notice for notice in ledger(disk).take_over() if "torn" not in notice] == []


def test_nothing_more_is_appended_while_the_copy_lacks_a_row(mount: Mount, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / A).mkdir(parents=True)
    copy = root / A / "result_index.jsonl"
    disk = mount()
    subprocess.run(["mount", "--bind", str(disk), str(root / A)], check=True)
    try:
        stuffing = fill(disk)
        for _ in range(2):
            with pytest.raises(
                LedgerUnwritable, match=f"] the ledger cannot be written: No space left on device: '{copy}"
            ):
                ledger(root).append(row())
            assert len(numbers(root / "result_index.jsonl")) == 1
        stuffing.unlink()
        assert ledger(root).append(row()).seq == 2
        assert numbers(copy) == [1, 2]
    finally:
        subprocess.run(["umount", str(root / A)], check=True)


def test_a_limit_on_files_in_the_middle_of_a_row(tmp_path: Path) -> None:
    limit = 5000
    done = subprocess.run(
        ["prlimit", f"--fsize={limit}", sys.executable, "-B", "-c", FILL_UP, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    appended, number = map(int, done.stdout.split())
    assert number == errno.EFBIG
    path = tmp_path / "result_index.jsonl"
    assert path.stat().st_size == limit  # the last row is torn
    assert numbers(path) == list(range(1, appended + 1))
    assert ledger(tmp_path).append(row()).seq == appended + 1
    assert numbers(path) == list(range(1, appended + 2))


def test_a_read_only_run_root(mount: Mount) -> None:
    disk = mount()
    ledger(disk).append(row())
    before = (disk / "result_index.jsonl").read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for refused in (lambda: ledger(disk).append(row()), ledger(disk).take_over):
        with pytest.raises(LedgerUnwritable) as caught:
            refused()
        assert caught.value.errno == errno.EROFS
    assert (disk / "result_index.jsonl").read_bytes() == before
    assert numbers(disk / "result_index.jsonl") == [1]


def test_a_document_that_does_not_fit_leaves_the_old_one_and_nothing_beside_it(mount: Mount) -> None:
    disk = mount()
    path = disk / "document.json"
    write_json(path, {"version": 1})
    old = path.read_bytes()
    with pytest.raises(OSError, match="No space left") as caught:
        write_json(path, {"version": 2, "text": "x" * 200_000})
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == old
    assert [found.name for found in disk.iterdir()] == ["document.json"]
    assert os.statvfs(disk).f_bfree > 0
