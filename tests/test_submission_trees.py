"""Odd trees are packed as they are: names, modes, times, links, depth and size."""

import gzip
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.submission import package_workspace
from obo_bench.programbench.packaging.tree import resolve
from tests.submission_trees import listing, unpack


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
