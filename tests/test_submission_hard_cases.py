"""What real and hostile trees have in them: devices, long names, sparse files, files that change under the reader."""

import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.archive import ArchiveWriter
from obo_bench.programbench.packaging.collection_rules import CollectionRules
from obo_bench.programbench.packaging.packer import Packer, _is_untouched
from obo_bench.programbench.packaging.reference_copies import KnownReference
from obo_bench.programbench.packaging.reference_search import Search
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.packaging.tree import TreeChangedError
from tests.submission_trees import (
    as_ordinary_user,
    flags,
    listing,
    make_destination,
    make_workspace,
    reasons,
    unpack,
)

YEAR = 365 * 86400


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that the ordinary user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_device_nodes_are_left_out_and_listed(workspace: Path, destination: Path) -> None:
    try:
        os.mknod(workspace / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(workspace / "src" / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 0))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    record = package_workspace(workspace, destination)
    assert reasons(record) == {"null": "special_file", "src/disk": "special_file"}
    assert sorted(path.name for path in unpack(destination).rglob("*")) == ["compile.sh", "main.sh", "src"]


def test_the_longest_names_and_paths_of_a_thousand_bytes_arrive(workspace: Path, destination: Path) -> None:
    deep = workspace
    for letter in "abcd":
        deep /= letter * 250
    deep.mkdir(parents=True)
    (deep / ("x" * 255)).write_text("deep")
    (deep / "link").symlink_to("../" * 4 + "src/main.sh")
    (workspace / "longest").symlink_to("t/" * 2000 + "end")
    record = package_workspace(workspace, destination)
    assert (record.excluded, record.flagged) == ((), ())
    assert listing(unpack(destination)) == listing(workspace)


@pytest.mark.parametrize("nanoseconds", [0, 123_456_789])
@pytest.mark.parametrize("seconds", [-30 * YEAR, -1, 0, 2**31, 2**33 + 5, 400 * YEAR])
def test_times_long_ago_and_far_ahead_arrive(
    workspace: Path, destination: Path, seconds: int, nanoseconds: int
) -> None:
    for path in (workspace / "src" / "main.sh", workspace / "src"):
        os.utime(path, ns=(0, seconds * 10**9 + nanoseconds))
    package_workspace(workspace, destination)
    assert listing(unpack(destination)) == listing(workspace)


def test_thousands_of_files_in_one_directory_arrive_in_order(workspace: Path, destination: Path) -> None:
    for number in range(2000):
        (workspace / "src" / f"{number * 7919 % 100_003}").touch()
    record = package_workspace(workspace, destination)
    assert record.member_count == 2004
    with tarfile.open(destination / "submission.tar.gz") as archive:
        names = [member.name for member in archive if member.name.startswith("./src/")]
    assert names == sorted(names)
    assert len(names) == 2001


def test_a_sparse_file_is_stored_whole_and_small(workspace: Path, destination: Path) -> None:
    with (workspace / "disk.img").open("wb") as stream:
        stream.truncate(50_000_000)
        stream.seek(30_000_000)
        stream.write(b"data")
    record = package_workspace(workspace, destination)
    assert record.size < 300_000
    assert listing(unpack(destination)) == listing(workspace)


def test_a_file_that_claims_more_than_any_tree_holds_is_named_and_not_read(workspace: Path, destination: Path) -> None:
    (workspace / "src" / "endless").touch()
    os.truncate(workspace / "src" / "endless", 10**13)
    with pytest.raises(SubmissionFailed, match=r"with 'src/endless' \(10000000000000 bytes\) the tree has more than"):
        package_workspace(workspace, destination)
    assert list(destination.iterdir()) == []


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_directories_that_cannot_be_listed_or_entered_fail_by_name(open_place: Path, mode: int) -> None:
    with as_ordinary_user():
        workspace, destination = make_workspace(open_place), make_destination(open_place)
        (workspace / "src").chmod(mode)
        try:
            with pytest.raises(SubmissionFailed, match=r"can't pack 'src(/main\.sh)?': Permission denied"):
                package_workspace(workspace, destination)
        finally:
            (workspace / "src").chmod(0o755)
        assert list(destination.iterdir()) == []


class Meddler(KnownReference):
    """Does something to the tree each time that a file was opened and its first megabyte has been read."""

    def __init__(self, workspace: Path, meddle: Callable[[], None]) -> None:
        super().__init__(workspace, (), None)
        self._meddle = meddle

    def search(self, size: int, beginning: bytes) -> Search | None:
        if size > 1 << 20:
            self._meddle()
        return super().search(size, beginning)


def pack_while(workspace: Path, meddle: Callable[[], None]) -> bytes:
    """Return what was stored for the file `big` while `meddle` happened to it."""
    sink = io.BytesIO()
    with ArchiveWriter(sink) as writer:
        Packer(workspace, CollectionRules.protecting([]), Meddler(workspace, meddle), writer).pack()
        writer.finish()
    sink.seek(0)
    with tarfile.open(fileobj=sink) as archive:
        member = archive.extractfile("./big")
        assert member is not None
        return member.read()


def grow(big: Path) -> None:
    with big.open("ab") as stream:
        stream.write(b"more")


def swap(big: Path) -> None:
    big.rename(big.with_name("moved"))
    big.symlink_to("/etc/passwd")


@pytest.mark.parametrize("meddle", [grow, swap, Path.unlink])
def test_what_was_opened_is_stored_as_it_was(workspace: Path, meddle: Callable[[Path], None]) -> None:
    big = workspace / "big"
    content = os.urandom(3 << 20)
    big.write_bytes(content)
    assert pack_while(workspace, lambda: meddle(big)) == content


def shrink(big: Path) -> None:
    os.truncate(big, 2 << 20)


def rewrite(big: Path) -> None:
    with big.open("r+b") as stream:
        stream.write(b"changed")


@pytest.mark.parametrize("meddle", [shrink, rewrite])
def test_what_changes_under_the_reader_is_noticed(workspace: Path, meddle: Callable[[Path], None]) -> None:
    big = workspace / "big"
    big.write_bytes(os.urandom(3 << 20))
    with pytest.raises(TreeChangedError, match="big"):
        pack_while(workspace, lambda: meddle(big))


def test_times_are_not_trusted_for_a_file_that_was_written_just_before(workspace: Path) -> None:
    with (workspace / "compile.sh").open() as stream:
        status = os.fstat(stream.fileno())
        assert _is_untouched(stream.fileno(), status, status.st_ctime_ns + 10**9)
        assert not _is_untouched(stream.fileno(), status, status.st_ctime_ns + 10**6)
        os.utime(workspace / "compile.sh", ns=(0, 0))
        assert not _is_untouched(stream.fileno(), status, status.st_ctime_ns + 10**9)


def test_hard_links_to_what_is_left_out_keep_their_content(workspace: Path, destination: Path) -> None:
    (workspace / "conftest.py").write_text("import pytest\n")
    (workspace / "src" / "conftest.py").hardlink_to(workspace / "conftest.py")
    (workspace / "zeta").hardlink_to(workspace / "conftest.py")
    record = package_workspace(workspace, destination)
    assert reasons(record) == {"conftest.py": "pytest_setup"}
    target = unpack(destination)
    assert (target / "src" / "conftest.py").samefile(target / "zeta")
    assert (target / "zeta").read_text() == "import pytest\n"
    assert flags(record) == {}
