"""Ledgers are read as streams, in bounded memory, and the quick way finds what the slow way finds."""

import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.core.files import line_bytes
from obo_bench.core.ledger import Damage, Row, latest_rows, read_rows
from tests.test_ledger import A, B, ledger, row


def line(instance: str, reason: str, **more: object) -> bytes:
    return line_bytes(row(instance, reason).document() | {"ts_unix": 1.5} | more)


def slow(path: Path) -> dict[str, Row]:
    return {found.instance_id: found for found in read_rows(path)}


def test_a_ledger_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    assert list(read_rows(path)) == []
    assert latest_rows(path) == {}


def test_a_pipe_in_the_ledgers_place_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result_index.jsonl")
    assert list(read_rows(tmp_path / "result_index.jsonl")) == []


def test_damage_is_counted_with_its_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    foreign = [b"\xff\xfe\n", b"[1]\n", b"\0\0\0\n", b'{"status": "completed"}\n', b"\n", b"[" * 100_000 + b"\n"]
    path.write_bytes(line(A, "one") + b"".join(foreign) + line(B, "two") + b'{"torn')
    damage = Damage()
    assert [found.reason_code for found in read_rows(path, damage)] == ["one", "two"]
    assert (damage.count, damage.numbers) == (7, [2, 3, 4, 5, 6, 7, 9])
    assert str(damage) == "7 torn or foreign line(s) skipped (line 2, 3, 4, 5, 6, 7, 9)"
    path.write_bytes(b"?\n" * 1000)
    damage = Damage()
    assert list(read_rows(path, damage)) == []
    assert damage.count == 1000
    assert str(damage).endswith("19, 20, ...)")


def test_the_latest_row_is_not_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    glued = line(A, "torn")[:-30] + line(B, "swallowed")
    wrong = line(A, "of the wrong type", attempt="two")
    spliced = line(A, "spliced").replace(b'"completed"', b'"compl\0\0\0eted"')
    # Of equal keys the last one counts, as in any JSON reader.
    twice = line(A, "twice")[:-2] + b', "instance_id": "' + B.encode() + b'", "reason_code": "one"}\n'
    for damaged in (glued, wrong, twice, spliced, line(A, "torn")[:-9]):
        path.write_bytes(line(A, "first") + line(B, "one") + line(A, "second") + damaged)
        assert {name: found.reason_code for name, found in latest_rows(path).items()} == {A: "second", B: "one"}


def test_a_name_within_other_fields_is_not_taken_for_the_instance(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    trap = '", "instance_id": "' + B + '", "x": "'
    ours = Row(benchmark=f"bench{trap}", instance_id=A, status="failed", reason_code=trap, error=trap)
    path.write_bytes(line_bytes(ours.document()) + line('naïve \\ "name"', "odd") + line("\udcff", "not text"))
    assert latest_rows(path) == slow(path)
    assert set(slow(path)) == {A, 'naïve \\ "name"', "\udcff"}


def test_the_quick_way_agrees_with_the_slow_way_on_damaged_ledgers(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    chance = random.Random(5)
    for _ in range(150):
        content = bytearray()
        for number in range(chance.randrange(1, 12)):
            content += line(chance.choice([A, B, "é__f.0000003"]), f"r{number}")
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(content))
            content[at : at + chance.randrange(40)] = chance.choice([b"", b"\n", b"\0" * 9, b'"}\n{"', b"\xff"])
        path.write_bytes(content)
        assert latest_rows(path) == slow(path), bytes(content)


def test_a_huge_line_is_skipped_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    ledger(tmp_path).append(row())
    size = path.stat().st_size
    os.truncate(path, size + (1 << 30))  # a power loss: zeros, which take no room on the disk
    script = (
        "import sys; from pathlib import Path; from obo_bench.core.ledger import *; p = Path(sys.argv[1]);"
        "from tests.test_ledger import ledger, row;"
        "written = ledger(p.parent).append(row('later'));"
        "print(written.seq, len(list(read_rows(p))), len(latest_rows(p)))"
    )
    done = subprocess.run(
        ["prlimit", f"--as={1 << 30}", sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.split() == ["2", "2", "2"], done.stderr


def test_the_whole_way_from_disk_costs_memory_for_instances_not_for_rows(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    with path.open("wb") as stream:
        for number in range(60_000):
            stream.write(line(f"i__{number % 200}.0000001", f"r{number}"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = latest_rows(path)
    assert len(found) == 200
    assert found["i__199.0000001"].reason_code == "r59999"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000, "kilobytes"


@pytest.mark.parametrize("later", ["ouroboros.benchmark.task_result.v2", "ouroboros.benchmark.task_result.v1"])
def test_rows_of_other_writers_count_whatever_their_spacing_and_order(tmp_path: Path, later: str) -> None:
    path = tmp_path / "result_index.jsonl"
    document = row(A, "theirs").document() | {"schema": later}
    shuffled = dict(reversed(document.items()))
    path.write_bytes(line(A, "ours") + json.dumps(shuffled, separators=(",", ":")).encode() + b"\n")
    assert latest_rows(path)[A].reason_code == "theirs"
