"""Packing real trees: what is kept arrives unchanged, what is left out is listed, and the workspace is only read."""

import contextlib
import gzip
import hashlib
import json
import os
import resource
import shutil
import socket
import stat
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.refusals import UsageError
from obo_bench.programbench.packaging import submission as submission_module
from obo_bench.programbench.packaging.archive import SubmissionCorrupt, verify_archive
from obo_bench.programbench.packaging.collection_rules import (
    CACHE_DIRECTORIES,
    EXCLUSION_TEXTS,
    CollectionRules,
    Exclusion,
)
from obo_bench.programbench.packaging.reference_copies import Inspection, ReferenceTraces
from obo_bench.programbench.packaging.submission import (
    CompileScriptCheck,
    SubmissionFailed,
    SubmissionRecord,
    package_workspace,
)
from obo_bench.programbench.packaging.tree import TreeChangedError, resolve, walk
from obo_bench.programbench.solving.instruction import render_instruction

OTHER_USER = 65534
REFERENCE = bytes(range(256)) * 40 + os.urandom(30_000)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    script = root / "compile.sh"
    script.write_text("#!/bin/sh\ncp src/main.sh executable\n")
    script.chmod(0o755)
    (root / "src").mkdir()
    (root / "src" / "main.sh").write_text("#!/bin/sh\necho hello\n")
    return root


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    path = tmp_path / "instance"
    path.mkdir()
    return path


def unpack(destination: Path) -> Path:
    """Unpack as the evaluator does."""
    target = destination / "unpacked"
    target.mkdir()
    command = ["tar", "-xzf", str(destination / "submission.tar.gz"), "-C", str(target)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return target


def listing(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Describe a tree: kind, mode, mtime and content of everything in it."""
    found: dict[bytes, tuple[object, ...]] = {}
    for directory, directories, files in os.walk(os.fsencode(root)):
        for name in [*directories, *files]:
            path = os.path.join(directory, name)  # noqa: PTH118 - pathlib has no byte paths
            status = os.lstat(path)
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)  # noqa: PTH115
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()
            found[os.path.relpath(path, os.fsencode(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def without(tree: dict[bytes, tuple[object, ...]], record: SubmissionRecord) -> dict[bytes, tuple[object, ...]]:
    gone = [os.fsencode(note.path) for note in record.excluded]
    return {path: what for path, what in tree.items() if not any(path == g or path.startswith(g + b"/") for g in gone)}


def reasons(record: SubmissionRecord) -> dict[str, str]:
    return {note.path: str(note.reason) for note in record.excluded}


def flags(record: SubmissionRecord) -> dict[str, str]:
    return {note.path: str(note.reason) for note in record.flagged}


@contextlib.contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Give up root's rights for a while, so that file modes count."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(OTHER_USER)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that the ordinary user may enter."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        yield place


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


def test_odd_names_modes_times_and_links_arrive_unchanged(workspace: Path, destination: Path) -> None:
    odd = os.fsencode(workspace) + b"/not-utf8-\xff\xfe"
    os.mkdir(odd)  # noqa: PTH102 - pathlib has no byte paths
    Path(os.fsdecode(odd + b"/\xe9" + b"x" * 120)).write_text("long and odd")
    for name in ("ünïcode ☃", "line\nbreak", "-dash", "back\\slash", "n" * 255, "exactly-" + "e" * 90):
        (workspace / name).write_text(name)
    deep = workspace.joinpath(*["directory-with-a-name"] * 12)
    deep.mkdir(parents=True)
    (deep / "leaf").write_text("leaf")
    (workspace / "dangling").symlink_to("nowhere/" + "t" * 150)
    (workspace / "loop-a").symlink_to("loop-b")
    (workspace / "loop-b").symlink_to("loop-a")
    (workspace / "absolute").symlink_to("/workspace/src/main.sh")
    (workspace / "dirlink").symlink_to("src")
    (workspace / "byte-link").symlink_to(os.fsdecode(b"\xff-target"))
    (workspace / "private").write_text("x")
    (workspace / "private").chmod(0o600)
    (workspace / "setuid").write_text("x")
    (workspace / "setuid").chmod(0o4755)
    (workspace / "empty").touch()
    os.utime(workspace / "empty", ns=(0, -5_500_000_000))
    os.utime(workspace / "private", ns=(0, 1_700_000_000_123_456_789))
    os.utime(workspace / "src", ns=(0, 1_600_000_000_000_000_000))
    record = package_workspace(workspace, destination)
    assert record.excluded == ()
    assert listing(unpack(destination)) == listing(workspace)


def test_hard_links_stay_links_and_are_stored_once(workspace: Path, destination: Path) -> None:
    (workspace / "a").write_bytes(os.urandom(300_000))
    (workspace / "src" / "b").hardlink_to(workspace / "a")
    record = package_workspace(workspace, destination)
    assert record.size < 320_000
    target = unpack(destination)
    assert (target / "a").samefile(target / "src" / "b")
    assert (target / "a").read_bytes() == (workspace / "a").read_bytes()


def test_the_archive_begins_with_its_root_and_belongs_to_root(workspace: Path, destination: Path) -> None:
    (workspace / "zeta").touch()
    (workspace / "Alpha").touch()
    if os.geteuid() == 0:
        os.chown(workspace / "zeta", 1234, 1234)
    record = package_workspace(workspace, destination)
    with tarfile.open(destination / "submission.tar.gz") as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == ["."] + [
        f"./{name}" for name in ("Alpha", "compile.sh", "src", "src/main.sh", "zeta")
    ]
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "root", "root")}
    assert record.member_count == len(members)
    raw = gzip.decompress((destination / "submission.tar.gz").read_bytes())
    assert b"./\0" in (raw[:3], raw[1024:1027])


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


@pytest.mark.parametrize("known", [True, False])
def test_a_copy_is_found_by_hash_where_the_reference_is_not_readable(
    workspace: Path, destination: Path, known: bool
) -> None:
    (workspace / "reference_executable").symlink_to("/reference/program")
    (workspace / "copy").write_bytes(REFERENCE)
    sha256 = hashlib.sha256(REFERENCE).hexdigest() if known else None
    record = package_workspace(workspace, destination, reference_sha256=sha256)
    expected = {"copy": "reference_copy", "reference_executable": "reference"}
    assert reasons(record) == (expected if known else {"reference_executable": "reference"})


def test_close_copies_are_flagged_and_strangers_are_not(workspace: Path, destination: Path) -> None:
    large = os.urandom(3_000_000)
    (workspace / "reference_executable").write_bytes(large)
    (workspace / "one-byte-more").write_bytes(large + b"\n")
    (workspace / "wrapped").write_bytes(b"#!/bin/sh\ntail -c +40 $0\n" + large)
    (workspace / "shortened").write_bytes(large[:2_000_000])
    (workspace / "other").write_bytes(os.urandom(3_000_000))
    (workspace / "padding").write_bytes(bytes(3_000_000))
    assert flags(package_workspace(workspace, destination)) == {
        "one-byte-more": "resembles_reference",
        "wrapped": "resembles_reference",
        "shortened": "resembles_reference",
    }


def test_the_passages_are_found_across_chunks(workspace: Path) -> None:
    (workspace / "reference_executable").write_bytes(REFERENCE)
    traces = ReferenceTraces.gather(workspace, (), None)
    assert traces.inspect((REFERENCE[at : at + 50] for at in range(0, len(REFERENCE), 50)), len(REFERENCE)) == (
        Inspection(hashlib.sha256(REFERENCE).hexdigest(), len(REFERENCE), resembles_reference=True)
    )


def test_a_hard_link_to_a_protected_file_is_left_out(workspace: Path, destination: Path) -> None:
    (workspace / "key").write_text("secret")
    (workspace / "src" / "hard").hardlink_to(workspace / "key")
    record = package_workspace(workspace, destination, protected_paths=("key",))
    assert reasons(record) == {"key": "protected_path", "src/hard": "reference_copy"}


def test_what_meets_the_hidden_tests_or_leads_to_the_reference_is_flagged(workspace: Path, destination: Path) -> None:
    (workspace / "eval").mkdir()
    (workspace / "eval" / "run.sh").touch()
    (workspace / "src" / "conftest.py").touch()
    (workspace / "src" / "evaluate.py").touch()
    (workspace / "alias").symlink_to("src/../reference_executable")
    assert flags(package_workspace(workspace, destination)) == {
        "alias": "links_to_excluded_path",
        "eval": "may_affect_tests",
        "eval/run.sh": "may_affect_tests",
        "src/conftest.py": "may_affect_tests",
    }


@pytest.mark.parametrize(
    ("content", "mode", "check"),
    [
        (b"#!/bin/sh\n", 0o755, CompileScriptCheck(present=True, executable=True, crlf=False)),
        (b"#!/bin/sh\r\nmake\r\n", 0o644, CompileScriptCheck(present=True, executable=False, crlf=True)),
        (None, 0, CompileScriptCheck(present=False, executable=False, crlf=False)),
    ],
)
def test_compile_script_check(
    workspace: Path, destination: Path, content: bytes | None, mode: int, check: CompileScriptCheck
) -> None:
    (workspace / "compile.sh").unlink()
    if content is not None:
        (workspace / "compile.sh").write_bytes(content)
        (workspace / "compile.sh").chmod(mode)
    assert package_workspace(workspace, destination).compile_sh == check


@pytest.mark.parametrize(("target", "present"), [("src/main.sh", True), ("/bin/sh", False), ("src", False)])
def test_compile_script_may_be_a_link_in_the_tree(
    workspace: Path, destination: Path, target: str, present: bool
) -> None:
    (workspace / "compile.sh").unlink()
    (workspace / "compile.sh").symlink_to(target)
    assert package_workspace(workspace, destination).compile_sh.present is present


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


def test_a_tree_far_deeper_than_any_real_one_is_packed(workspace: Path, destination: Path) -> None:
    here = Path.cwd()
    os.chdir(workspace)
    try:
        for _ in range(600):
            os.mkdir("d")  # noqa: PTH102 - the path is too long for anything but one step at a time
            os.chdir("d")
    finally:
        os.chdir(here)
    record = package_workspace(workspace, destination)
    assert record.member_count == 604
    shutil.rmtree(workspace / "d")


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


@pytest.mark.parametrize(
    ("path", "target", "leads_to"),
    [
        ("l", "src/main.sh", "src/main.sh"),
        ("l", "..", None),
        ("l", "src/../..", None),
        ("src/l", "..", ""),
        ("src/l", "../..", None),
        ("l", "absent/../x", "x"),
        ("l", "/workspace", ""),
        ("l", "/workspace/src/../x", "x"),
        ("l", "/workspace/../etc", None),
        ("l", "/workspaces/x", None),
        ("l", "//etc", None),
        ("l", "to-src/../..", None),
        ("l", "to-src/..", ""),
        ("l", "to-root/..", None),
        ("l", "l", "l"),
    ],
)
def test_links_are_followed_as_the_system_would(workspace: Path, path: str, target: str, leads_to: str | None) -> None:
    (workspace / "to-src").symlink_to("src")
    (workspace / "to-root").symlink_to("src/..")
    (workspace / path).symlink_to(target)
    assert resolve(workspace, path) == leads_to


@pytest.mark.parametrize("path", ["", " ", ".", "/workspace", "/workspace/", "x/..", "../workspace"])
def test_the_whole_workspace_cannot_be_protected(path: str) -> None:
    with pytest.raises(UsageError, match="whole workspace"):
        CollectionRules.protecting([path])


def test_protected_paths_are_read_as_the_server_reads_them() -> None:
    paths = ["/workspace/a/", "b/./c", "./d", "/etc/passwd", "../x", "/workspaces/x", "/workspace/a"]
    assert CollectionRules.protecting(paths).protected == ("a", "b/c", "d")
