"""A reference that is handed in as many small parts is recognised by all of them together; what others share is not."""

import base64
import gzip
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.submission import SubmissionSuspect, package_workspace
from tests.submission_trees import flags

SHELL = Path(shutil.which("bash") or "/bin/sh").resolve()
PROGRAM = SHELL.read_bytes()
PART = "holds_part_of_reference"


@pytest.fixture(scope="module")
def traces() -> ReferenceTraces:
    taken = ReferenceTraces.of_file(SHELL)
    assert taken is not None
    return taken


def cut(content: bytes, count: int) -> list[bytes]:
    size = len(content) // count + 1
    return [content[at : at + size] for at in range(0, len(content), size)]


def told(workspace: Path, destination: Path, parts: Iterable[bytes], traces: ReferenceTraces) -> set[str]:
    """Package the parts, and return which of the reasons were given that concern the reference."""
    for number, part in enumerate(parts):
        (workspace / f"part.{number:04}").write_bytes(part)
    record = package_workspace(workspace, destination, reference=traces)
    return {str(note.reason) for note in record.flagged} - {"prebuilt_binary"}


@pytest.mark.parametrize("count", [4, 5, 8, 20, 300])
def test_parts_of_a_copy_are_flagged_however_small(
    workspace: Path, destination: Path, traces: ReferenceTraces, count: int
) -> None:
    assert told(workspace, destination, cut(PROGRAM, count), traces) == {PART}
    with pytest.raises(SubmissionSuspect, match=PART):
        package_workspace(workspace, destination, reference=traces, strict=True)


ENCODED: dict[str, Callable[[], list[bytes]]] = {
    "each in base64": lambda: [base64.encodebytes(part) for part in cut(PROGRAM, 30)],
    "base64 of the whole": lambda: cut(base64.b64encode(PROGRAM), 7),
    "each in digits": lambda: [part.hex().encode() for part in cut(PROGRAM, 9)],
    "each compressed": lambda: [gzip.compress(part, 1) for part in cut(PROGRAM, 10)],
}


@pytest.mark.parametrize("how", ENCODED)
def test_encoded_parts_count(workspace: Path, destination: Path, traces: ReferenceTraces, how: str) -> None:
    assert told(workspace, destination, ENCODED[how](), traces) == {PART}


def test_less_than_half_of_it_is_not_flagged(workspace: Path, destination: Path, traces: ReferenceTraces) -> None:
    assert told(workspace, destination, cut(PROGRAM[: len(PROGRAM) // 5 * 2], 4), traces) == set()


def test_the_same_part_many_times_does_not_add_up(workspace: Path, destination: Path, traces: ReferenceTraces) -> None:
    part = cut(PROGRAM, 5)[2]
    assert told(workspace, destination, [part + os.urandom(9) for _ in range(8)], traces) == set()


def test_a_copy_that_is_told_by_itself_casts_no_suspicion_on_others(
    workspace: Path, destination: Path, traces: ReferenceTraces
) -> None:
    (workspace / "a").write_bytes(cut(PROGRAM, 10)[1])
    (workspace / "copy").write_bytes(PROGRAM + b"\n")
    found = flags(package_workspace(workspace, destination, reference=traces))
    assert {path for path, reason in found.items() if "reference" in reason} == {"copy"}


@pytest.mark.parametrize("name", ["bash", "cp", "sort", "gzip"])
def test_other_programs_of_the_same_system_are_no_parts(workspace: Path, destination: Path, name: str) -> None:
    reference = ReferenceTraces.of_file(Path("/usr/bin", name).resolve())
    if reference is None:
        pytest.skip(f"there is no {name}")
    programs = [path for path in sorted(Path("/usr/bin").iterdir()) if path.is_file() and not path.is_symlink()]
    small = [path for path in programs if path.stat().st_size < 200_000 and path.name != name]
    tree = [path.read_bytes() for path in small[:300]]
    assert told(workspace, destination, tree, reference) == set()
