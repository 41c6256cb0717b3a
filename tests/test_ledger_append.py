"""`ledger append`: rows of many processes, what is no row, and runs that take none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.core.ledger import read_rows
from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.manifest import RunManifest
from tests.conftest import Done, obo

SHA = "ab" * 32
ROW = ("--instance-id", "t1", "--status", "completed", "--reason", "solved")


def run_root(directory: Path, benchmark: str = "demo", outcome: str = "completed", **fields: object) -> Path:
    """Leave a run as `exec` leaves it."""
    given = {"benchmark": benchmark, "command": "exec", "created_at_unix": 1.0, "run_root": str(directory), **fields}
    manifest = RunManifest.model_validate({**given, "invocation": "i"}, by_alias=True)
    manifest.extra.outcome = outcome  # type: ignore[assignment]
    directory.mkdir()
    (directory / "run_manifest.json").write_text(json.dumps(manifest.document()))
    return directory


def append(root: Path, *options: str | Path) -> Done:
    return obo("ledger", "append", "--run", root, *options)


def test_a_row_is_on_disk_and_its_number_is_told(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r")
    more = (
        "--detail",
        "a=b=c",
        "--cost-usd",
        "0.5",
        "--prediction-written",
        "--submission-sha256",
        SHA,
        "--attempt",
        "2",
    )
    assert append(root, *ROW, *more).stdout == "1\n"
    told = append(root, *ROW, "--json").envelope["result"]
    assert (told["seq"], told["row"]["instance_id"]) == (2, "t1")
    first, second = read_rows(root / "result_index.jsonl")
    assert (first.details, first.cost, first.prediction_written) == ({"a": "b=c"}, {"usd": 0.5}, True)
    assert (first.benchmark, first.invocation, first.attempt, first.submission_sha256) == ("demo", "i", 2, SHA)
    assert second.seq == 2


def test_the_run_is_found_by_the_variable_that_exec_sets(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r")
    assert obo("ledger", "append", *ROW, env={"OBO_BENCH_MANIFEST": str(root / "run_manifest.json")}).status == 0
    nowhere = obo("ledger", "append", *ROW)
    assert (nowhere.status, "--run" in nowhere.stderr) == (2, True)


def test_twenty_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r")
    line = [sys.executable, "-m", "obo_bench", "ledger", "append", "--run", str(root), "--status", "failed"]
    processes = [
        subprocess.Popen([*line, "--reason", "x", "--instance-id", f"t{number}"], stdout=subprocess.PIPE)
        for number in range(20)
    ]
    numbers = {int(process.communicate(timeout=120)[0]) for process in processes}
    assert numbers == set(range(1, 21))
    assert {row.instance_id for row in read_rows(root / "result_index.jsonl")} == {f"t{n}" for n in range(20)}
    assert ledger_notices(root) == []


def test_a_whole_row_can_be_handed_in_as_json(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r")
    file = tmp_path / "row.json"
    file.write_text(
        json.dumps({"instance_id": "t1", "status": "skipped", "reason_code": "x", "seq": 77, "benchmark": "y"})
    )
    assert append(root, "--json-row", file).stdout == "1\n"
    [row] = read_rows(root / "result_index.jsonl")
    assert (row.benchmark, row.status, row.seq) == ("demo", "skipped", 1)
    piped = subprocess.run(
        [sys.executable, "-m", "obo_bench", "ledger", "append", "--run", str(root), "--json-row", "-"],
        input=file.read_bytes(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert piped.stdout == b"2\n"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"instance_id": "t1"}', '{"instance_id": "t1", "status": "fine", "reason_code": "x"}',
     '{"instance_id": "", "status": "failed", "reason_code": "x"}',
     '{"instance_id": "t1", "status": "failed", "reason_code": "two words"}',
     '{"instance_id": "t1", "status": "failed", "reason_code": "x", "submission_sha256": "zz"}',
     '{"instance_id": "t1", "status": "failed", "reason_code": "x", "cost": 5}', "\udcff"],
)  # fmt: skip
def test_what_is_no_row_is_refused_and_nothing_is_written(tmp_path: Path, text: str) -> None:
    root = run_root(tmp_path / "r")
    file = tmp_path / "row.json"
    file.write_bytes(os.fsencode(text))
    done = append(root, "--json-row", file)
    assert (done.status, "ledger_row_invalid" in done.stderr) == (5, True), done.stderr
    assert not (root / "result_index.jsonl").exists()


def test_a_fifo_in_the_place_of_the_row_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "row.json")
    assert append(run_root(tmp_path / "r"), "--json-row", tmp_path / "row.json").status == 5


def test_an_id_that_was_not_requested_is_refused(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r", requested_task_ids=["t2"])
    done = append(root, *ROW)
    assert done.status == 5
    assert "'t1' was not requested" in done.stderr


@pytest.mark.parametrize(
    ("benchmark", "command", "outcome", "status"),
    [
        ("demo", "exec", "started", 0),
        ("demo", "exec", "completed", 0),
        ("demo", "python launcher", "started", 0),
        ("demo", "python launcher", "completed", 5),
        ("programbench", "programbench run", "started", 5),
    ],
)
def test_only_runs_of_launchers_take_rows(
    tmp_path: Path, benchmark: str, command: str, outcome: str, status: int
) -> None:
    done = append(run_root(tmp_path / "r", benchmark, outcome, command=command), *ROW)
    assert (done.status, "ledger_not_open" in done.stderr) == (status, status == 5), done.stderr


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    done = append(tmp_path, *ROW)
    assert (done.status, "run_not_found" in done.stderr) == (5, True)
    remedy = done.stderr.partition("what to do: ")[2]
    assert remedy.startswith("give --run the directory of the run, the one with its run_manifest.json: ")
    assert "--runs-root" not in remedy


def test_the_answer_says_of_which_run_it_is(tmp_path: Path) -> None:
    root = run_root(tmp_path / "r")
    told = append(root, *ROW, "--json").envelope
    assert (told["run_root"], told["manifest"]) == (str(root), str(root / "run_manifest.json"))
    refused = append(run_root(tmp_path / "other", requested_task_ids=["t2"]), *ROW, "--json").envelope
    assert (refused["run_root"], refused["refusal"]["reason"]) == (str(tmp_path / "other"), "ledger_row_invalid")
    nowhere = append(tmp_path, *ROW, "--json").envelope
    assert (nowhere["run_root"], nowhere["manifest"]) == (None, None)


def test_a_row_that_cannot_be_read_names_its_file_once(tmp_path: Path) -> None:
    done = append(run_root(tmp_path / "r"), "--json-row", tmp_path / "row.json")
    assert f"--json-row {str(tmp_path / 'row.json')!r} cannot be read: No such file or directory\n" in done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (ROW[:4], "--reason"),
        ((*ROW[:2], "--status", "", "--reason", "x"), "--status"),
        ((*ROW, "--detail", "novalue"), "'novalue'"),
        ((*ROW[:4], "--reason", "two words"), "--reason 'two words' is not one word"),
        ((*ROW, "--submission-sha256", "zz"), "--submission-sha256 'zz' is no SHA-256"),
        ((*ROW, "--cost-usd", "inf"), "--cost-usd"),
        ((*ROW, "--json-row", "x"), "--json-row"),
    ],
)
def test_options_that_mean_nothing_are_usage_errors(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    done = append(run_root(tmp_path / "r"), *options)
    assert (done.status, named in done.stderr) == (2, True), done.stderr
