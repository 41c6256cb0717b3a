"""Foreign input is data: whatever a server, an image, a workspace or a data set holds, nothing breaks or is driven."""

import ast
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli import answer
from obo_bench.core.documents import read_document
from obo_bench.core.files import write_json
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import LONGEST_LINE, PlainReporter, SilentReporter
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.lifecycle import TaskLife
from obo_bench.gateway.outcome import judge
from obo_bench.gateway.settlement import SettledBy
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.instances import load_instances
from obo_bench.programbench.packaging import packer
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.solving.evidence import tool_errors
from tests.raw_server import http, raw_server

HOSTILE = "\x1b[31mred\x1b]0;title\x07\r\x08\x9b2J\u202egnirts\u2066\ud800\x00[bold]markup[/bold]\u2028end"
COMPLETED = b'{"task_id": "t", "status": "completed", %s}'
DEEP = b"[" * 900 + b"]" * 900


def strict(path: Path) -> Any:
    """Read a document as a reader that knows nothing but JSON and UTF-8."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(path.read_bytes().decode("utf-8"), parse_constant=refuse)


RECORDS: dict[str, bytes] = {
    "a lone surrogate": rb'"result": "\ud800x", "odd": ["\udfff"]',
    "a lone surrogate as a key": rb'"\ud800": 1, "outcome_axes": {"\udc00": {"\udc00": 2}}',
    "bytes that are no UTF-8": b'"result": "\xff\xfe caf\xe9"',
    "no number": b'"cost_usd": NaN, "x": [Infinity, -Infinity, 1e999]',
    "a number that no double holds": b'"cost_usd": 1' + b"0" * 400,
    "a number of more digits than Python converts": b'"total_rounds": 1' + b"0" * 6000,
    "deep nesting": b'"trace": ' + DEEP,
    "deep nesting in a known field": b'"outcome_axes": {"execution": ' + DEEP + b"}",
    "a key twice": b'"reason_code": "a", "reason_code": "b"',
    "fields of other types": b'"artifact_status": 5, "cost_usd": "a", "outcome_axes": [1], "result": {"a": 1}',
    "control sequences": json.dumps({"result": HOSTILE, "reason_code": HOSTILE}).encode()[1:-1],
}


@pytest.mark.parametrize("odd", RECORDS)
def test_a_finished_solve_is_not_lost_to_what_else_its_record_holds(odd: str, tmp_path: Path) -> None:
    with raw_server(http("200 OK", COMPLETED % RECORDS[odd])) as url, GatewayClient(url) as client:
        checkpoints = CheckpointFile(tmp_path / "c.json")
        life = TaskLife(client, checkpoints, SilentReporter(), subject="x", stop=threading.Event(), executor=None)
        settled = life.watch(TaskCheckpoint(task_id="t"), 10)
    assert settled.by is SettledBy.FINAL
    assert settled.record is not None
    assert judge(settled.record).completed
    write_json(tmp_path / "result.json", Redactor().document(settled.record.model_dump()))
    assert strict(tmp_path / "result.json")["status"] == "completed"
    assert strict(tmp_path / "c.json")["task_result"]["status"] == "completed"
    assert read_document(TaskCheckpoint, tmp_path / "c.json").status == "completed"


def test_a_record_of_thirty_megabytes_is_read_in_time_and_its_checkpoint_is_small(tmp_path: Path) -> None:
    rounds = ",".join(json.dumps({"n": n, "text": "x" * 900}) for n in range(16_000))
    body = b'"result": "%s", "trace_refs": [%s]' % (b"y" * 15_000_000, rounds.encode())
    assert len(body) > 28_000_000
    with raw_server(http("200 OK", COMPLETED % body)) as url, GatewayClient(url) as client:
        life = TaskLife(
            client,
            CheckpointFile(tmp_path / "c.json"),
            SilentReporter(),
            subject="x",
            stop=threading.Event(),
            executor=None,
        )
        started = time.monotonic()
        settled = life.watch(TaskCheckpoint(task_id="t"), 60)
        assert time.monotonic() - started < 10
    assert settled.by is SettledBy.FINAL
    assert (tmp_path / "c.json").stat().st_size < 250_000
    cut = strict(tmp_path / "c.json")["task_result"]
    assert cut["result"].endswith("[cut: 15000000 characters]")
    assert cut["trace_refs"][-1] == "[cut: 16000 entries]"


@pytest.mark.parametrize("place", ["top", "axis", "other"])
def test_a_reason_of_two_megabytes_still_makes_a_row(place: str, tmp_path: Path) -> None:
    code: object = {"a": "x" * 2_000_000} if place == "other" else "x" * 2_000_000
    axis = {"outcome_axes": {"execution": {"reason_code": code}}}
    fields = {"reason_code": code} if place == "top" else axis
    outcome = judge(TaskRecord.model_validate({"status": "failed", **fields}))
    row = Row(benchmark="b", instance_id="a__b", status="failed", reason_code=outcome.reason)
    Ledger(tmp_path, "i", Redactor()).append(row)
    assert len((tmp_path / "result_index.jsonl").read_bytes()) < 1000


def test_a_record_of_ordinary_size_is_kept_whole_in_its_checkpoint() -> None:
    record = TaskRecord.model_validate({"status": "completed", "result": "x" * 3000, "trace_refs": list(range(90))})
    assert record.excerpt() == record.model_dump()


def shown_safely(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def test_foreign_text_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    PlainReporter().event(f"failed ({HOSTILE})", f"id{HOSTILE}")
    answer.say(f"refused: {HOSTILE}\n  what to do: nothing")
    shown = capsys.readouterr().err
    assert shown_safely(shown)
    assert "[bold]markup[/bold]" in shown
    assert "[31mred" in shown
    assert len(shown.splitlines()) == 3


def test_a_line_is_not_longer_than_anybody_reads(capsys: pytest.CaptureFixture[str]) -> None:
    PlainReporter().event("x" * 30_000_000)
    shown = capsys.readouterr().err
    assert len(shown) < LONGEST_LINE + 100
    assert "[cut: 30000000 characters]" in shown


def entry(instance_id: str = "a__b.0000001", image: str = "programbench/a_1776_b.0000001") -> dict[str, Any]:
    return {
        "instance_id": instance_id,
        "language": "c",
        "difficulty": "easy",
        "repository": "a/b",
        "commit": "0" * 40,
        "image_name": image,
    }


HOSTILE_DATA: dict[str, list[dict[str, Any]]] = {
    "a path upwards": [entry("../a__b.0000001")],
    "an absolute path": [entry("/tmp/a__b.0000001")],
    "a directory": [entry("a__b/c")],
    "nothing": [entry("")],
    "a dot": [entry(".")],
    "a NUL": [entry("a__b\x00.0000001")],
    "a line feed at the end": [entry("a__b.0000001\n")],
    "the name of a directory of the run": [entry("manifests")],
    "two hundred characters": [entry("a__" + "b" * 200)],
    "control sequences": [entry(f"a__{HOSTILE}")],
    "the same id twice": [entry(), entry()],
    "ids that differ in case": [entry(), entry("A__B.0000001")],
    "an option for an image": [entry(image="--privileged")],
    "an image with a blank": [entry(image="a b")],
}


@pytest.mark.parametrize("kind", HOSTILE_DATA)
def test_hostile_instance_data_is_a_typed_refusal(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("programbench.utils.load_data.load_all_instances", lambda **_: HOSTILE_DATA[kind])
    with pytest.raises(PreflightRefused) as refused:
        load_instances()
    assert refused.value.reason == "dataset_unavailable"
    refused.value.settle()


def test_the_official_instances_all_have_the_shape() -> None:
    assert len(load_instances()) > 200


def test_a_sparse_file_of_any_size_is_a_typed_failure_at_once(tmp_path: Path) -> None:
    workspace, destination = tmp_path / "workspace", tmp_path / "out"
    workspace.mkdir()
    destination.mkdir()
    with (workspace / "huge").open("wb") as stream:
        stream.truncate(1 << 42)
    started = time.monotonic()
    with pytest.raises(SubmissionFailed, match=r"with 'huge' \(4398046511104 bytes\)"):
        package_workspace(workspace, destination)
    assert time.monotonic() - started < 5
    assert list(destination.iterdir()) == []


def test_many_files_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packer, "LARGEST_TREE", 10)
    (tmp_path / "workspace").mkdir()
    for name in "abc":
        (tmp_path / "workspace" / name).write_bytes(b"four")
    with pytest.raises(SubmissionFailed, match="with 'c'"):
        package_workspace(tmp_path / "workspace", tmp_path)


def test_durations_are_not_taken_from_the_clock_on_the_wall() -> None:
    """A clock that jumps must not make a time-out of nothing: no moment of the wall clock is ever calculated with."""
    found = []
    for path in Path(answer.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.BinOp | ast.Compare):
                inner = [ast.unparse(part) for part in ast.iter_child_nodes(node)]
                found += [f"{path.name}: {ast.unparse(node)}" for part in inner if part == "time.time()"]
    assert found == []


EVIDENCE = {"removed": "No such object", "stopped": "is not running", "missing": "No such object"}


@pytest.mark.parametrize("sample", EVIDENCE)
def test_a_dead_container_in_the_servers_words_is_shown_and_decides_nothing(sample: str) -> None:
    path = Path(__file__).parent / "data" / "gateway" / f"completed-container-{sample}.json"
    record = TaskRecord.model_validate_json(path.read_bytes())
    shown = tool_errors(record)
    assert any(EVIDENCE[sample] in one["result"] for one in shown)
    assert all(len(one["result"]) <= 300 for one in shown)
    assert judge(record).completed
    assert not judge(record).degraded


@pytest.mark.parametrize("listed", [None, "x", [1, None], {"a": 1}, [{"exit_code": "x"}]])
def test_tool_errors_of_another_shape_are_no_evidence_and_no_error(listed: object) -> None:
    record = TaskRecord.model_validate({"outcome_axes": {"execution": {"cosmetic_tool_errors": listed}}})
    assert all(set(one) == {"tool", "status", "exit_code", "result"} for one in tool_errors(record))
