"""Copies of the reference are left out or flagged, however they are changed, packed or written; strangers are not."""

import base64
import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.reference_search import ReferenceFinder
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.packaging.submission import SubmissionSuspect, package_workspace
from tests.submission_trees import flags, reasons

PYTHON = Path(sys.executable).resolve()
PROGRAM = PYTHON.read_bytes()[: 6 << 20]
"""A real compiled program, or the most of one."""
SCRIPT = (
    b"#!/bin/sh\n# Prints its arguments in reverse order.\nfor word; do all=\"$word $all\"; done\nprintf '%s\\n' $all\n"
)
SCRIPT += b'case $1 in --version) echo "reverse 1.2.3 of the practice tools" ;; esac\nexit $(($# > 9))\n'


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> ReferenceTraces:
    return traces_of(PROGRAM, tmp_path_factory.mktemp("reference"))


def traces_of(content: bytes, place: Path) -> ReferenceTraces:
    """Take the traces, and read them back from the form in which a run keeps them."""
    (place / "reference").write_bytes(content)
    taken = ReferenceTraces.of_file(place / "reference")
    assert taken is not None
    kept = ReferenceTraces.of_document(taken.document())
    assert kept == taken
    return kept


def verdict(traces: ReferenceTraces, content: bytes, chunk: int = 1 << 20) -> str:
    search = ReferenceFinder(traces).search(len(content), content)
    if search is None:
        return "no room"
    for at in range(0, len(content), chunk):
        search.feed(content[at : at + chunk])
    answers = {"resembles": search.found, "inside": search.found_inside, "incomplete": search.incomplete}
    return next((name for name, holds in answers.items() if holds), "")


def tar(content: bytes, name: str = "program") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for member, data in ((f"{name}.md", b"# Notes\n"), (name, content)):
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def zipped(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("README", "Notes")
        archive.writestr("program", content)
    return stream.getvalue()


def c_array(content: bytes) -> bytes:
    digits = textwrap.fill(", ".join(f"0x{byte:02x}" for byte in content), 76)
    return f"unsigned char program[] = {{\n{digits}\n}};\n".encode()


def lines_of(text: bytes) -> bytes:
    return b"\n".join(text[at : at + 76] for at in range(0, len(text), 76)) + b"\n"


def python_source(content: bytes) -> bytes:
    body = lines_of(base64.b64encode(content)).replace(b"\n", b'"\n    "')
    return b'import base64\nDATA = base64.b64decode(\n    "' + body + b'"\n)\n'


DISGUISES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "one byte more": (lambda data: data + b"\n", "resembles"),
    "one byte changed": (lambda data: data[:5000] + b"!" + data[5001:], "resembles"),
    "one byte less in the middle": (lambda data: data[: len(data) // 3] + data[len(data) // 3 + 1 :], "resembles"),
    "behind a script": (lambda data: b"#!/bin/sh\ntail -c +40 $0 > executable\nexit\n" + data, "resembles"),
    "its first half": (lambda data: data[: len(data) // 2], "resembles"),
    "in the middle of zeros": (lambda data: bytes(3_000_001) + data + bytes(99), "resembles"),
    "tar": (tar, "resembles"),
    "zip, stored": (lambda data: zipped(data, zipfile.ZIP_STORED), "resembles"),
    "gzip": (gzip.compress, "inside"),
    "bzip2": (bz2.compress, "inside"),
    "xz": (lambda data: lzma.compress(data, preset=1), "inside"),
    "zip": (zipped, "inside"),
    "zip, bzip2": (lambda data: zipped(data, zipfile.ZIP_BZIP2), "inside"),
    "tar.gz": (lambda data: gzip.compress(tar(data)), "inside"),
    "tar.gz in a zip in a tar": (lambda data: tar(zipped(gzip.compress(tar(data)))), "inside"),
    "gzip of base64 of gzip": (lambda data: gzip.compress(base64.b64encode(gzip.compress(data))), "inside"),
    "gzip behind a script": (lambda data: b"#!/bin/sh\ntail -n +3 $0 | gunzip\nexit\n" + gzip.compress(data), "inside"),
    "gzip of a changed copy": (lambda data: gzip.compress(b"x" + data), "inside"),
    "base64": (lambda data: lines_of(base64.b64encode(data)), "inside"),
    "base64 in a Python source": (python_source, "inside"),
    "base64 of gzip": (lambda data: b"PAYLOAD=" + base64.b64encode(gzip.compress(data)), "inside"),
    "hexadecimal": (lambda data: lines_of(data.hex().encode()), "inside"),
    "capital hexadecimal": (lambda data: data.hex().upper().encode(), "inside"),
    "a C array": (c_array, "inside"),
    "a string of escapes": (lambda data: b"".join(b"\\x%02x" % byte for byte in data), "inside"),
    "zstd": (lambda data: b"\x28\xb5\x2f\xfd" + os.urandom(len(data) // 3), "incomplete"),
    "an encrypted zip": (lambda data: b"PK\x03\x04\x14\x00\x01\x00\x08\x00" + os.urandom(len(data) // 3), "incomplete"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_copy_of_a_program_is_recognised(traces: ReferenceTraces, disguise: str) -> None:
    make, expected = DISGUISES[disguise]
    assert verdict(traces, make(PROGRAM)) == expected


@pytest.mark.parametrize("disguise", sorted(DISGUISES.keys() - {"in the middle of zeros", "zstd", "an encrypted zip"}))
def test_the_same_holds_for_a_small_script(disguise: str, tmp_path: Path) -> None:
    make, expected = DISGUISES[disguise]
    found = verdict(traces_of(SCRIPT, tmp_path), make(SCRIPT))
    if disguise == "its first half":
        assert found in ("", "resembles")
    else:
        assert found == expected


@pytest.mark.parametrize("chunk", [50, 1000, 4097])
@pytest.mark.parametrize("disguise", ["one byte more", "bzip2", "zip", "a C array", "base64 in a Python source"])
def test_nothing_is_missed_where_two_pieces_meet(disguise: str, chunk: int, tmp_path: Path) -> None:
    program = PROGRAM[:30_000]
    make, expected = DISGUISES[disguise]
    assert verdict(traces_of(program, tmp_path), make(program), chunk) == expected


def strangers() -> dict[str, bytes]:
    printable = b"\n".join(run for run in PROGRAM.split(b"\0") if run.isascii() and len(run) > 5)
    return {
        "random": os.urandom(2_000_000),
        "zeros": bytes(5_000_000),
        "the program's own texts": printable * 10,
        "another program": b"".join(bytes(reversed(PROGRAM[at : at + 99])) for at in range(0, len(PROGRAM), 99)),
        "its pieces, shuffled": b"".join(
            PROGRAM[at : at + 300] for at in sorted(range(0, len(PROGRAM), 300), key=lambda at: at * 7919 % 10007)
        ),
        "gzip of text": gzip.compress(os.urandom(500_000).hex().encode()),
        "the marks of the encodings": b"\x1f\x8b\x08 1AY&SY \xfd7zXZ\x00 PK\x03\x04 H4sI 0x7f, 0x45, 0x4c, 0x46 " * 300,
    }


def test_strangers_are_not_taken_for_copies(traces: ReferenceTraces) -> None:
    assert {name: verdict(traces, content) for name, content in strangers().items()} == dict.fromkeys(strangers(), "")


@pytest.mark.skipif(not all(map(shutil.which, ("gcc", "strip"))), reason="needs gcc and strip")
def test_a_stripped_copy_is_recognised_and_a_sibling_is_not(tmp_path: Path) -> None:
    for name, factor in (("one", 37), ("two", 41)):
        source = tmp_path / f"{name}.c"
        calls = "\n".join(f"int {name}{at}(int x) {{ return x * {at * factor} ^ {at + factor}; }}" for at in range(400))
        source.write_text(f'#include <stdio.h>\n{calls}\nint main(void) {{ return puts("{name}"); }}\n')
        subprocess.run(["gcc", "-g3", "-o", tmp_path / name, source], check=True, timeout=60)
    shutil.copy(tmp_path / "one", tmp_path / "stripped")
    subprocess.run(["strip", tmp_path / "stripped"], check=True, timeout=60)
    traces = ReferenceTraces.of_file(tmp_path / "one")
    assert traces is not None
    stripped = (tmp_path / "stripped").read_bytes()
    assert len(stripped) * 2 < traces.size
    assert verdict(traces, stripped) == "resembles"
    assert verdict(traces, gzip.compress(stripped)) == "inside"
    assert verdict(traces, (tmp_path / "two").read_bytes()) == ""


def test_a_program_of_a_few_hundred_bytes_is_recognised(tmp_path: Path) -> None:
    tiny = PROGRAM[:64] + os.urandom(350)
    traces = traces_of(tiny, tmp_path)
    assert verdict(traces, b"x" + tiny) == "resembles"
    assert verdict(traces, gzip.compress(tiny + b"x")) == "inside"
    assert verdict(traces, PROGRAM) == ""


def test_a_script_of_a_hundred_bytes_is_recognised(tmp_path: Path) -> None:
    script = b"#!/bin/sh\n# Counts its arguments; says nothing else.\nexec printf '%d words\\n' $#\n"
    assert verdict(traces_of(script, tmp_path), script.replace(b"Counts", b"counts")) == "resembles"


def test_the_texts_of_a_program_prove_nothing(tmp_path: Path) -> None:
    texts = base64.b64encode(os.urandom(30_000))
    traces = traces_of(PROGRAM[:10_000] + texts + PROGRAM[-10_000:], tmp_path)
    assert verdict(traces, b"usage = " + texts) == ""


@pytest.mark.parametrize("make", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_a_bomb_is_left_alone_and_told(traces: ReferenceTraces, make: Callable[[bytes], bytes]) -> None:
    bomb = make(bytes(80_000_000))
    padded = bomb + os.urandom(max(traces.size // 16 - len(bomb), 0) + 1)
    search = ReferenceFinder(traces).search(len(padded), padded)
    assert search is not None
    search.feed(padded)
    assert search.incomplete
    assert not search.found_inside


def test_nested_bombs_end_at_the_allowance_of_the_tree(tmp_path: Path) -> None:
    traces = traces_of(PROGRAM[:30_000], tmp_path)
    nested = gzip.compress(gzip.compress(gzip.compress(gzip.compress(bytes(100_000_000)))) * 50)
    finder = ReferenceFinder(traces)
    for _ in range(3):
        search = finder.search(1 << 20, nested)
        assert search is not None
        search.feed(nested)


@pytest.mark.parametrize("known", [True, False])
def test_a_copy_is_found_by_hash_where_the_reference_is_not_readable(
    workspace: Path, destination: Path, known: bool
) -> None:
    (workspace / "reference_executable").symlink_to("/reference/program")
    (workspace / "copy").write_bytes(SCRIPT)
    traces = ReferenceTraces(sha256=hashlib.sha256(SCRIPT).hexdigest()) if known else None
    record = package_workspace(workspace, destination, reference=traces)
    expected = {"copy": "reference_copy", "reference_executable": "reference"}
    assert reasons(record) == (expected if known else {"reference_executable": "reference"})


def test_recorded_traces_count_even_if_another_file_was_put_in_the_place_of_the_reference(
    workspace: Path, destination: Path, traces: ReferenceTraces
) -> None:
    (workspace / "reference_executable").write_bytes(os.urandom(50_000))
    (workspace / "copy").write_bytes(PROGRAM)
    (workspace / "close").write_bytes(PROGRAM + b"\n")
    record = package_workspace(workspace, destination, reference=traces)
    assert reasons(record)["copy"] == "reference_copy"
    assert ("close", "resembles_reference") in [(note.path, note.reason) for note in record.flagged]


def test_close_copies_are_flagged_where_only_the_workspace_has_the_reference(
    workspace: Path, destination: Path
) -> None:
    large = os.urandom(3_000_000)
    (workspace / "reference_executable").write_bytes(large)
    (workspace / "more").write_bytes(large + b"\n")
    (workspace / "packed").write_bytes(gzip.compress(large, 1))
    (workspace / "other").write_bytes(os.urandom(3_000_000))
    expected = {"more": "resembles_reference", "packed": "holds_encoded_reference"}
    assert flags(package_workspace(workspace, destination)) == expected


def test_strict_refuses_what_may_be_the_reference_and_publishes_nothing(
    workspace: Path, destination: Path, traces: ReferenceTraces
) -> None:
    for number in range(7):
        (workspace / f"copy{number}").write_bytes(PROGRAM + b"%d" % number)
    with pytest.raises(SubmissionSuspect, match=r"--strict refuses 'copy0' \(resembles_reference\), .*, and 2 more"):
        package_workspace(workspace, destination, reference=traces, strict=True)
    assert list(destination.iterdir()) == []
    assert len(package_workspace(workspace, destination, reference=traces).flagged) >= 7


@pytest.mark.parametrize(
    "document", [None, [], {}, {"sha256": 3}, {"sha256": "x", "passages": [{"at": 0, "hex": "z"}]}]
)
def test_a_damaged_document_of_traces_is_none(document: object) -> None:
    assert ReferenceTraces.of_document(document) is None


def test_what_is_hardly_a_program_has_hardly_a_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(PYTHON)
    for name in ("pipe", "link", "absent", "."):
        assert ReferenceTraces.of_file(tmp_path / name) is None
    for content in (b"", b"#!/bin/sh\n", bytes(10_000), b"\x7fELF\x02\x01" + bytes(58) + os.urandom(20)):
        assert len(traces_of(content, tmp_path).passages) <= 2
