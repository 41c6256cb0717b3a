"""What a tree can hold to slip past the packer, or to keep it from ending."""

import io
import os
import resource
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.archive import ArchiveWriter
from obo_bench.programbench.packaging.collection_rules import CollectionRules
from obo_bench.programbench.packaging.packer import Packer
from obo_bench.programbench.packaging.pytest_influences import configures_pytest
from obo_bench.programbench.packaging.reference_copies import KnownReference
from obo_bench.programbench.packaging.reference_search import Search
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.submission import package_workspace
from obo_bench.programbench.packaging.tree import TreeChangedError
from tests.submission_trees import flags, reasons

OPTIONS = b'[tool.pytest.ini_options]\naddopts = "-p helper"\n'


def make_deep(top: Path, levels: int) -> None:
    above = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=above)
        below = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)


def test_a_tree_that_is_deeper_than_files_may_be_open_is_packed(workspace: Path, destination: Path) -> None:
    make_deep(workspace, 300)
    (workspace / "e").mkdir()
    (workspace / "e" / "after").write_text("the way back is found")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowered = len(list(Path("/proc/self/fd").iterdir())) + 150
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowered, hard))
    try:
        record = package_workspace(workspace, destination)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        shutil.rmtree(workspace / "d")
    assert record.member_count == 4 + 300 + 2


def a_link(workspace: Path) -> None:
    (workspace / "src" / "options").write_bytes(OPTIONS)
    (workspace / "pyproject.toml").symlink_to("src/options")


def a_second_name(workspace: Path) -> None:
    (workspace / "a").write_bytes(OPTIONS)
    (workspace / "pyproject.toml").hardlink_to(workspace / "a")


def behind_a_megabyte(workspace: Path) -> None:
    (workspace / "pyproject.toml").write_bytes(b"# nothing\n" * 110_000 + OPTIONS)


@pytest.mark.parametrize("hide", [a_link, a_second_name, behind_a_megabyte])
def test_hidden_options_for_pytest_are_flagged(
    workspace: Path, destination: Path, hide: Callable[[Path], None]
) -> None:
    hide(workspace)
    assert flags(package_workspace(workspace, destination)) == {"pyproject.toml": "may_affect_tests"}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo 'pytest_plugins = 1' >conftest.py", True),
        ("cp src/x eval/conftest.py", True),
        ("printf '[pytest]' >pytest.ini", True),
        ("echo 'export PYTEST_ADDOPTS=-x' >>~/.profile", True),
        ("python3 -m pytest own_tests && cp -r evaluation conf", False),
    ],
)
def test_a_build_script_that_names_what_would_bend_the_tests_is_flagged(
    workspace: Path, destination: Path, command: str, told: bool
) -> None:
    (workspace / "compile.sh").write_text("#!/bin/sh\n" + "# nothing\n" * 10_000 + command + "\nmake\n")
    (workspace / "compile.sh").chmod(0o755)
    expected = {"compile.sh": "may_affect_tests"} if told else {}
    assert flags(package_workspace(workspace, destination)) == expected


@pytest.mark.parametrize("end", [b"\r", b"\f", b"\v", "\u2028".encode()])
def test_a_section_for_pytest_is_found_behind_every_end_of_a_line(end: bytes) -> None:
    assert configures_pytest("setup.cfg", b"# nothing" + end + b"[tool:pytest]")


def test_a_document_that_is_nested_too_deep_counts_as_broken() -> None:
    nested = "a = " + "[" * 100_000
    with pytest.raises(RecursionError):
        tomllib.loads(nested)
    assert configures_pytest("pyproject.toml", nested.encode())


class Swapped(KnownReference):
    """Puts the reference into a file between the look at its hash and its storing."""

    def search(self, size: int, beginning: bytes) -> Search | None:
        for path in self.targets:
            path.write_bytes(self.content)
        return super().search(size, beginning)

    targets: tuple[Path, ...] = ()
    content = b""


def test_the_reference_is_not_stored_where_it_comes_after_the_look(workspace: Path) -> None:
    content = os.urandom(3 << 20)
    (workspace / "reference_executable").write_bytes(content)
    (workspace / "big").write_bytes(content[: 1 << 20] + bytes(2 << 20))
    reference = Swapped(workspace, (), None)
    reference.targets, reference.content = (workspace / "big",), content
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(TreeChangedError):
        Packer(workspace, CollectionRules.protecting([]), reference, writer).pack()


def test_a_reference_that_claims_any_size_is_not_read(workspace: Path, destination: Path) -> None:
    (workspace / "reference_executable").touch()
    os.truncate(workspace / "reference_executable", 10**13)
    assert reasons(package_workspace(workspace, destination)) == {"reference_executable": "reference"}


def test_headers_of_a_program_that_claim_any_size_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = b"\x7fELF\x02\x01".ljust(32, b"\0") + (64).to_bytes(8, "little") + bytes(14) + b"\xff\xff\xff\xff"
    (tmp_path / "program").write_bytes(header.ljust(4096, b"\1"))
    asked: list[int] = []
    really = os.pread

    def watched(descriptor: int, size: int, offset: int) -> bytes:
        asked.append(size)
        return really(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", watched)
    assert ReferenceTraces.of_file(tmp_path / "program") is not None
    assert max(asked) < 1 << 24


@pytest.mark.parametrize("path", ["//workspace/tool", "///workspace//tool/", "/workspace/./tool"])
def test_a_protected_path_may_be_written_with_more_slashes(path: str) -> None:
    assert CollectionRules.protecting([path]).protected == ("tool",)
