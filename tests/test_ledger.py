"""The ledger only grows, chains its rows, and outlives torn tails, dead writers and many writers at once."""

import fcntl
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core import ledger as ledger_module
from obo_bench.core.files import line_bytes
from obo_bench.core.ledger import Ledger, LedgerUnwritable, Row, read_rows
from obo_bench.core.redact import Redactor

A, B = "a__b.0000001", "c__d.0000002"


def row(instance: str = A, reason: str = "submission_prepared", **more: Any) -> Row:
    return Row(benchmark="programbench", instance_id=instance, status="completed", reason_code=reason, **more)


def ledger(root: Path) -> Ledger:
    return Ledger(root, "i1", Redactor(["topsecret"]))


def test_rows_are_numbered_chained_and_copied_verbatim(tmp_path: Path) -> None:
    (tmp_path / A).mkdir()
    for _ in range(3):
        ledger(tmp_path).append(row())
    lines = (tmp_path / "result_index.jsonl").read_bytes().splitlines(keepends=True)
    rows = [json.loads(line) for line in lines]
    assert [item["seq"] for item in rows] == [1, 2, 3]
    assert rows[0]["prev_sha256"] == ""
    assert rows[2]["prev_sha256"] == hashlib.sha256(lines[1]).hexdigest()
    assert (tmp_path / A / "result_index.jsonl").read_bytes() == b"".join(lines)
    assert ledger(tmp_path).take_over() == []


TAILS = {
    "torn": b'{"schema": "ouroboros.benchm',
    "torn within a character": '{"error": "\N{EURO SIGN}'.encode()[:-1],
    "zeros of a power loss": b"\0" * 5000,
    "zeros, ended": b"\0" * 5000 + b"\n",
    "a foreign line": b"somebody was here\n",
    "a row of something else": b'{"seq": 99, "instance_id": "x"}\n',
    "a hundred foreign lines": b"[1]\n" * 100,
    "a line longer than any row": b"x" * 3_500_000,
    "a row and more than a line holds": line_bytes(row("x").document())[:-1] + b" " * 1_500_000 + b"...\n",
    "a row in a line that is too long": line_bytes(row("x").document())[:-1] + b" " * 1_500_000 + b"\n",
    "longer, ended": b'{"seq": 7' + b" " * 3_500_000 + b"}\n\n",
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_a_damaged_tail_is_kept_and_the_next_row_goes_on_after_the_last_row(tmp_path: Path, tail: bytes) -> None:
    ledger(tmp_path).append(row())
    path = tmp_path / "result_index.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + tail)
    written = ledger(tmp_path).append(row(B))
    assert path.read_bytes().startswith(before + tail)
    assert (written.seq, written.prev_sha256) == (2, hashlib.sha256(before).hexdigest())
    assert [found.instance_id for found in read_rows(path)] == [A, B]
    (notice,) = ledger(tmp_path).take_over()
    assert "torn or foreign line(s) skipped (line 2" in notice


def test_a_tail_that_lacks_only_its_newline_is_a_row_and_stays_in_the_chain(tmp_path: Path) -> None:
    (tmp_path / A).mkdir()
    ledger(tmp_path).append(row())
    path = tmp_path / "result_index.jsonl"
    os.truncate(path, path.stat().st_size - 1)
    assert ledger(tmp_path).take_over() == []
    assert ledger(tmp_path).append(row(B)).seq == 2
    assert [found.seq for found in read_rows(path)] == [1, 2]
    assert ledger(tmp_path).take_over() == []


def test_a_copy_that_a_killed_writer_left_behind_is_completed_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / A).mkdir()
    ledger(tmp_path).append(row())
    copy = tmp_path / A / "result_index.jsonl"
    for complete in (lambda: ledger(tmp_path).append(row(B)), ledger(tmp_path).take_over):
        whole = copy.read_bytes()
        last = whole.splitlines(keepends=True)[-1]
        os.truncate(copy, len(whole) - len(last) + 7)  # killed in the middle of the copy
        complete()
        assert [found.instance_id for found in read_rows(copy)] == [A]
        copy.unlink()  # killed before it
        complete()
        ledger(tmp_path).append(row(A))
        copy.write_bytes(b"".join((tmp_path / "result_index.jsonl").read_bytes().splitlines(keepends=True)[-1:]))


def test_copies_that_disagree_and_changed_rows_are_told(tmp_path: Path) -> None:
    for name in (A, B):
        (tmp_path / name).mkdir()
        ledger(tmp_path).append(row(name))
        ledger(tmp_path).append(row(name))
    path, copy = tmp_path / "result_index.jsonl", tmp_path / A / "result_index.jsonl"
    copy.write_bytes(copy.read_bytes().replace(b'"completed"', b'"failed"', 1))
    (disagreement,) = ledger(tmp_path).take_over()
    assert disagreement == f"{copy}: its rows are not those of the run's own ledger"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    broken = ledger(tmp_path).take_over()[0]
    assert "line 2 does not follow from the row before it (row 3 after row 1)" in broken


def test_an_instance_without_a_directory_has_its_rows_at_the_run_root_only(tmp_path: Path) -> None:
    for name in (A, B):
        ledger(tmp_path).append(row(name))
    (tmp_path / A).mkdir()
    ledger(tmp_path).append(row(reason="later"))
    assert [found.seq for found in read_rows(tmp_path / A / "result_index.jsonl")] == [3]
    assert ledger(tmp_path).take_over() == []


@pytest.mark.parametrize("name", ["..", ".", "", "../outside", "/tmp", "a/../../outside", "a\0b"])
def test_no_name_of_an_instance_leads_out_of_the_run_root(tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    ledger(root).append(row(name))
    assert sorted(path.name for path in root.iterdir()) == [".result_index.jsonl.lock", "result_index.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "root"]
    assert not list(outside.iterdir())
    assert not Path("/tmp/result_index.jsonl").exists()


def test_a_link_in_the_ledgers_place_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"")
    root = tmp_path / "root"
    root.mkdir()
    (root / "result_index.jsonl").symlink_to(target)
    with pytest.raises(LedgerUnwritable):
        ledger(root).append(row())
    assert target.read_bytes() == b""


def test_a_row_that_is_too_large_keeps_its_plain_parts(tmp_path: Path) -> None:
    details = {"infrastructure": True, "task_id": "t", "echo": "x" * 2_000_000, "list": ["y" * 100] * 50_000}
    ledger(tmp_path).append(row(error="e" * 3_000_000, details=details))
    (found,) = read_rows(tmp_path / "result_index.jsonl")
    assert found.details == {
        "infrastructure": True,
        "task_id": "t",
        "echo": "x" * 4000 + " ... (2000000 characters)",
        "shortened": True,
    }
    assert len(found.error) < 5000


def test_secrets_and_names_that_are_not_text(tmp_path: Path) -> None:
    ledger(tmp_path).append(row(reason="topsecret \udcff"))
    line = (tmp_path / "result_index.jsonl").read_bytes()
    assert b"topsecret" not in line
    assert json.loads(line)["reason_code"].endswith("\udcff")


def _append_many(root: Path, number: int) -> None:
    for count in range(50):
        ledger(root).append(row(f"w__{number}.{count:07d}"))


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    context = get_context("spawn")
    writers = [context.Process(target=_append_many, args=(tmp_path, number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    rows = list(read_rows(tmp_path / "result_index.jsonl"))
    assert [found.seq for found in rows] == list(range(1, 201))
    assert len({found.instance_id for found in rows}) == 200


def test_threads_and_readers_beside_them(tmp_path: Path) -> None:
    (tmp_path / A).mkdir()
    done = threading.Event()
    seen: list[list[int]] = []

    def write() -> None:
        for _ in range(25):
            shared.append(row())

    def read() -> None:
        while not done.is_set():
            seen.append([found.seq for found in read_rows(tmp_path / "result_index.jsonl")])

    shared = ledger(tmp_path)
    reader, writers = threading.Thread(target=read), [threading.Thread(target=write) for _ in range(8)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    for numbers in seen:
        assert numbers == list(range(1, len(numbers) + 1))
    assert [found.seq for found in read_rows(tmp_path / A / "result_index.jsonl")] == list(range(1, 201))
    assert ledger(tmp_path).take_over() == []


def test_writers_killed_at_random_moments_leave_a_ledger_that_goes_on(tmp_path: Path) -> None:
    (tmp_path / A).mkdir()
    script = (
        "import sys\nfrom pathlib import Path\nfrom tests.test_ledger import ledger, row\n"
        "print(flush=True)\nwhile True: ledger(Path(sys.argv[1])).append(row())"
    )
    moments = random.Random(11)
    for _ in range(8):
        writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(moments.random() * 0.2)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert [notice for notice in ledger(tmp_path).take_over() if "torn" not in notice] == []
    numbers = [found.seq for found in read_rows(tmp_path / "result_index.jsonl")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [found.seq for found in read_rows(tmp_path / A / "result_index.jsonl")] == numbers


def test_a_lock_that_a_stopped_process_holds_does_not_hold_the_run_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_LOCK_SEC", 0.2)
    with (tmp_path / ".result_index.jsonl.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LedgerUnwritable, match="held its lock"):
            ledger(tmp_path).append(row())
    ledger(tmp_path).append(row())
