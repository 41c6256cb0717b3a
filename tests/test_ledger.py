"""The ledger only grows, survives torn tails, and chains its lines."""

import hashlib
import json
from multiprocessing import get_context
from pathlib import Path

from obo_bench.core.ledger import Ledger, Row, read_rows
from obo_bench.core.redact import Redactor


def row(instance: str = "a__b.0000001", reason: str = "submission_prepared") -> Row:
    return Row(benchmark="programbench", instance_id=instance, status="completed", reason_code=reason)


def ledger(root: Path) -> Ledger:
    return Ledger(root, "i1", Redactor(["topsecret"]))


def test_rows_are_numbered_chained_and_copied_verbatim(tmp_path: Path) -> None:
    (tmp_path / "a__b.0000001").mkdir()
    for _ in range(3):
        ledger(tmp_path).append(row())
    lines = (tmp_path / "result_index.jsonl").read_bytes().splitlines(keepends=True)
    rows = [json.loads(line) for line in lines]
    assert [item["seq"] for item in rows] == [1, 2, 3]
    assert rows[0]["prev_sha256"] == ""
    assert rows[2]["prev_sha256"] == hashlib.sha256(lines[1]).hexdigest()
    assert (tmp_path / "a__b.0000001" / "result_index.jsonl").read_bytes() == b"".join(lines)


def test_a_torn_tail_is_kept_and_the_next_row_starts_afresh(tmp_path: Path) -> None:
    ledger(tmp_path).append(row())
    path = tmp_path / "result_index.jsonl"
    torn = path.read_bytes() + b'{"schema": "ouroboros.benchm'
    path.write_bytes(torn)
    written = ledger(tmp_path).append(row("c__d.0000002"))
    assert path.read_bytes().startswith(torn + b"\n")
    assert written.seq == 2
    assert [found.instance_id for found in read_rows(path)] == ["a__b.0000001", "c__d.0000002"]


def test_foreign_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "result_index.jsonl"
    path.write_bytes(b"\xff\xfe\n[1]\n\0\0\0\n" + b'{"status": "completed"}\n')
    ledger(tmp_path).append(row())
    assert [found.instance_id for found in read_rows(path)] == ["a__b.0000001"]


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
