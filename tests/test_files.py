"""Documents are replaced whole, for the operator alone, and never through a link."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import (
    LARGEST_DOCUMENT,
    make_private_directory,
    read_json_object,
    sha256_file,
    write_bytes,
    write_json,
)
from obo_bench.core.host_load import HostLoad
from obo_bench.core.ids_file import read_ids
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_link_in_a_documents_place_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    target, root = tmp_path / "outside", tmp_path / "root"
    target.write_text("precious")
    root.mkdir()
    (root / "document.json").symlink_to(target)
    write_json(root / "document.json", {"a": 1})
    assert target.read_text() == "precious"
    assert not (root / "document.json").is_symlink()
    assert read_json_object(root / "document.json") == {"a": 1}


def test_documents_are_private_and_never_wider_than_the_umask(tmp_path: Path) -> None:
    write_json(tmp_path / "document.json", {})
    assert mode(tmp_path / "document.json") == 0o600
    before = os.umask(0o077)
    try:
        write_bytes(tmp_path / "shared", b"", mode=0o644)
    finally:
        os.umask(before)
    assert mode(tmp_path / "shared") == 0o600


def test_a_run_root_is_private_unless_the_operator_made_it(tmp_path: Path) -> None:
    made, found = tmp_path / "runs" / "programbench" / "r", tmp_path / "shared"
    make_private_directory(made)
    assert mode(made) == 0o700
    assert mode(made.parent) != 0o700
    found.mkdir(mode=0o755)
    make_private_directory(found)
    assert mode(found) == 0o755


def test_a_failed_write_leaves_the_old_document_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(path, {"a": 2})
    assert [found.name for found in tmp_path.iterdir()] == ["document.json"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    write_bytes(tmp_path / ("n" * 255), b"x")
    assert [len(found.name) for found in tmp_path.iterdir()] == [255]


def test_a_writer_killed_at_any_moment_leaves_a_whole_document(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    script = (
        "import sys\nfrom obo_bench.core.files import write_json\nnumber = 0\n"
        "while True:\n    number += 1\n    write_json(sys.argv[1], {'first': number, 'pad': 'x' * 300000, "
        "'last': number})\n    number == 1 and print(flush=True)"
    )
    for moment in range(8):
        writer = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.011 * moment)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        found = json.loads(path.read_text())
        assert found["first"] == found["last"]
    others = [left.name for left in tmp_path.iterdir() if left != path]
    assert all(name.startswith(".document.json.") and name.endswith(".tmp") for name in others)


def test_writers_of_the_same_document_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "document.json"

    def write(number: int) -> None:
        for _ in range(30):
            write_json(path, [number] * 5000)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert len(set(json.loads(path.read_text()))) == 1
    assert [found.name for found in tmp_path.iterdir()] == ["document.json"]


@pytest.mark.parametrize("read", [read_json_object, sha256_file, lambda path: read_document(HostLoad, path)])
def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "fifo")

    def ask() -> None:
        with contextlib.suppress(OSError, UnreadableDocument):
            read(tmp_path / "fifo")

    reader = threading.Thread(target=ask, daemon=True)
    reader.start()
    reader.join(timeout=20)
    assert not reader.is_alive()


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(LARGEST_DOCUMENT + 1)
    assert read_json_object(tmp_path / "huge") is None
    with pytest.raises(UnreadableDocument, match="larger than"):
        read_document(HostLoad, tmp_path / "huge")


def raised(call: Callable[[], object]) -> Exception:
    with pytest.raises((OSError, ValueError, RecursionError)) as found:
        call()
    return found.value


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Path("/nowhere/x").read_bytes(), "No such file or directory"),
        (lambda: json.loads("{nonsense}"), "Expecting property name enclosed in double quotes at column 2"),
        (lambda: json.loads('{"a'), "Unterminated string starting at column 2"),
        (lambda: json.loads('{\n"a": 1\n'), "Expecting ',' delimiter at line 3, column 1"),
        (lambda: json.loads("[" * 100_000), "it is nested too deeply"),
        (b"ab\xff".decode, "it is not UTF-8 text: invalid start byte at byte 2"),
        (lambda: int("words"), "invalid literal for int() with base 10: 'words'"),
    ],
)
def test_why_repeats_no_path_and_shows_nothing_of_python(call: Callable[[], object], told: str) -> None:
    assert why(raised(call)) == told


def test_a_file_of_ids_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(PreflightRefused) as refused:
        read_ids(tmp_path / "ids.txt")
    refused.value.settle()
    assert (
        refused.value.message == f"--ids-file {str(tmp_path / 'ids.txt')!r} cannot be read: No such file or directory"
    )
