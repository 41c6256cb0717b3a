"""What an agent puts in a file's place while `prepare` looks at it is neither followed nor changed."""

import os
from pathlib import Path

import pytest

from obo_bench.programbench.preparing import history
from obo_bench.programbench.preparing.foreign_directory import held_directory, read_file, replace_file
from obo_bench.programbench.preparing.history import settle_history
from obo_bench.programbench.preparing.preparation import Blocked
from obo_bench.programbench.preparing.reference import make_reference
from tests.conftest import git


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.write_text("not the agent's")
    path.chmod(0o600)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    place.mkdir()
    (place / "executable").write_text("#!/bin/sh\n")
    return place


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_program_that_is_exchanged_after_the_look_gives_its_mode_to_nothing(
    workspace: Path, outside: Path, kind: str
) -> None:
    program = workspace / "executable"
    descriptor = os.open(program, os.O_PATH | os.O_NOFOLLOW)
    before = os.fstat(descriptor)
    program.rename(workspace / "looked at")
    program.symlink_to(outside) if kind == "link" else program.write_text("the agent's")
    with pytest.raises(Blocked, match="was changed while it was looked at"):
        make_reference(workspace, descriptor, before, 0o111)
    os.close(descriptor)
    assert (outside.stat().st_mode & 0o777, (workspace / "reference_executable").exists()) == (0o600, False)
    assert (workspace / "looked at").stat().st_mode & 0o777 == 0o111


def test_a_program_that_stays_becomes_the_reference(workspace: Path) -> None:
    descriptor = os.open(workspace / "executable", os.O_PATH | os.O_NOFOLLOW)
    make_reference(workspace, descriptor, os.fstat(descriptor), 0o111)
    os.close(descriptor)
    assert (workspace / "reference_executable").stat().st_mode & 0o777 == 0o111


def test_a_replaced_file_never_writes_through_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "exclude").symlink_to(outside)
    with held_directory(tmp_path / "d") as directory:
        with pytest.raises(OSError, match="symbolic"):
            read_file(directory, "exclude", 10)
        replace_file(directory, "exclude", b"ours")
    assert (outside.read_text(), (tmp_path / "d" / "exclude").read_text()) == ("not the agent's", "ours")
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["exclude"]


@pytest.mark.parametrize("name", ["config", "info/exclude"])
def test_a_link_that_comes_between_look_and_write_is_replaced_itself(
    workspace: Path, outside: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(workspace, "init", "-q")
    git(workspace, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")

    def exchanged(directory: int, file: str, most: int) -> bytes:
        data = read_file(directory, file, most)
        if file == Path(name).name:
            (workspace / ".git" / name).unlink()
            (workspace / ".git" / name).symlink_to(outside)
        return data

    monkeypatch.setattr(history, "read_file", exchanged)
    settle_history(workspace)
    assert outside.read_text() == "not the agent's"
    assert not (workspace / ".git" / name).is_symlink()


def test_settings_of_any_size_do_not_fill_the_memory(workspace: Path) -> None:
    git(workspace, "init", "-q")
    git(workspace, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
    exclude, config = workspace / ".git" / "info" / "exclude", workspace / ".git" / "config"
    os.truncate(exclude, 1 << 40)
    assert settle_history(workspace) == "kept"
    assert exclude.stat().st_size == 1 << 40
    assert "agent@localhost" in config.read_text()
    config.write_text(config.read_text() + "# \n" * (1 << 20))
    with pytest.raises(Blocked, match="more than 1048576 bytes"):
        settle_history(workspace)
