"""`export`: what is taken from a run, what is left in the destination, and what is said of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli.export import export as command
from obo_bench.core.files import sha256_file
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.lock import RunLock
from obo_bench.core.redact import Redactor
from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.programbench.admission.admitted_config import AdmittedConfiguration
from obo_bench.programbench.admission.order import read_order
from obo_bench.programbench.evaluation.accounts import read_accounts
from tests.conftest import obo
from tests.export_case import export, refused
from tests.solved_run import CHROMA, CMATRIX, ZOXIDE, run_session, solve, solved_run

FIXTURE = "testorg__calculator.abc1234"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two submissions and a failure, in another order than the benchmark's."""
    return solved_run(tmp_path / "run", {ZOXIDE: "echo 1", CMATRIX: "echo 2", CHROMA: None})


def test_a_run_becomes_a_minimal_tree_that_names_its_source(run: Path, tmp_path: Path) -> None:
    done = export(run, tmp_path / "out")
    own = {"submission.tar.gz", "submission.json", "result_index.jsonl"}
    documents = {"run_manifest.json", "export_manifest.json", "instance_order.json", "result_index.jsonl"}
    assert done.files == documents | {f"{name}/{file}" for name in (ZOXIDE, CMATRIX) for file in own}
    assert (done.numbers, done.ending) == ((2, 0, 1, 0), ("completed", 0))
    for name in (ZOXIDE, CMATRIX):
        for file in ("submission.tar.gz", "submission.json"):
            assert (done.root / name / file).read_bytes() == (run / name / file).read_bytes()
    order = read_order(done.root)
    assert order is not None
    assert order.exported_from is not None
    assert order.instance_ids == [ZOXIDE, CMATRIX, CHROMA] == done.manifest["requested_task_ids"]
    assert order.exported_from.manifest_sha256 == sha256_file(run / "run_manifest.json")
    assert (order.exported_from.run_root, order.exported_from.run_nonce) == (str(run), "0011aabb")
    assert (order.exported_from.unverified_source, order.exported_from.source_live) == (False, False)
    assert done.manifest["harness"]["exported_from"] == order.exported_from.document()


def test_every_row_tells_how_the_instance_stands_and_what_it_took(run: Path, tmp_path: Path) -> None:
    rows = export(run, tmp_path / "out").rows
    assert [(row.status, row.reason_code) for row in rows.values()] == [
        ("completed", "exported"),
        ("completed", "exported"),
        ("failed", "task_not_completed"),
    ]
    assert rows[ZOXIDE].submission_sha256 == sha256_file(run / ZOXIDE / "submission.tar.gz")
    assert not rows[CHROMA].submission_sha256
    assert {row.details["solve_account"]["known_usd"] for row in rows.values()} == {0.5}
    assert rows[ZOXIDE].details["export"]["source_row"]["seq"] == 1


def test_what_is_there_already_is_skipped_and_nothing_is_written_over(run: Path, tmp_path: Path) -> None:
    first = export(run, tmp_path / "out")
    archive = first.root / ZOXIDE / "submission.tar.gz"
    before = archive.stat().st_ino, archive.stat().st_ctime_ns
    second = export(run, tmp_path / "out")
    assert (second.numbers, second.ending) == ((0, 2, 1, 0), ("completed", 0))
    assert (archive.stat().st_ino, archive.stat().st_ctime_ns) == before
    assert second.rows[ZOXIDE].status == "skipped"
    assert second.rows[ZOXIDE].submission_sha256 == sha256_file(archive)
    assert len(second.manifest["extra"]["invocations"]) == 1


def test_a_skip_repeats_the_grade_that_the_destination_has(run: Path, tmp_path: Path) -> None:
    done = export(run, tmp_path / "out")
    grade = {"official_eval_status": "pass", "details": {"official_evaluation": {"score": 1.0}}}
    Ledger(done.root, "evaluation", Redactor()).append(done.rows[ZOXIDE].model_copy(update=grade))
    row = export(run, tmp_path / "out").rows[ZOXIDE]
    assert (row.official_eval_status, row.details["official_evaluation"]) == ("pass", {"score": 1.0})


def test_a_second_selection_adds_to_the_destination(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "out", CMATRIX).numbers == (1, 0, 0, 0)
    done = export(run, tmp_path / "out", ZOXIDE, ZOXIDE)
    assert done.numbers == (1, 1, 0, 0)
    assert done.manifest["requested_task_ids"] == [CMATRIX, ZOXIDE]


def test_the_slice_cuts_the_list_of_the_run(run: Path, tmp_path: Path) -> None:
    assert list(export(run, tmp_path / "a", slice=":1").reasons) == [ZOXIDE]
    assert list(export(run, tmp_path / "b", CHROMA, CMATRIX, CHROMA).reasons) == [CHROMA, CMATRIX]
    assert list(export(run, tmp_path / "c", CHROMA, CMATRIX, shuffle=True, filter=".*c").reasons) != []
    assert list(export(run, tmp_path / "d", language=("rs",)).reasons) == [ZOXIDE]


def test_fixtures_and_instances_that_the_package_does_not_know_are_exported_too(tmp_path: Path) -> None:
    unknown = "nobody__nothing.0000000"
    run = solved_run(tmp_path / "run", {FIXTURE: "echo 1", unknown: "echo 2"})
    assert export(run, tmp_path / "out").numbers == (2, 0, 0, 0)
    assert list(export(run, tmp_path / "b", filter="nobody").reasons) == [unknown]


def test_an_id_that_the_source_does_not_have_is_refused(run: Path, tmp_path: Path) -> None:
    refusal = refused(run, tmp_path / "out", "abishekvashok__cmatrix", FIXTURE)
    assert refusal.reason == "unknown_instance"
    assert f"near: {CMATRIX}" in refusal.message
    assert not (tmp_path / "out" / "instance_order.json").exists()


def test_a_dry_run_and_an_unrecorded_archive_never_count(run: Path, tmp_path: Path) -> None:
    sha256 = sha256_file(run / ZOXIDE / "submission.tar.gz")
    with run_session(run, [ZOXIDE, CMATRIX]) as session:
        row = {"benchmark": "programbench", "status": "completed"}
        session.ledger.append(Row(instance_id=ZOXIDE, reason_code="dry_run", submission_sha256=sha256, **row))
        session.ledger.append(Row(instance_id=CMATRIX, reason_code="submission_prepared", **row))
    done = export(run, tmp_path / "out")
    assert set(done.reasons.values()) == {"submission_unrecorded"}
    assert (done.numbers, done.ending) == ((0, 0, 0, 2), ("nothing_exported", 1))


def test_a_run_without_a_submission_exports_nothing(tmp_path: Path) -> None:
    done = export(solved_run(tmp_path / "run", {CHROMA: None}), tmp_path / "out")
    assert (done.numbers, done.ending) == ((0, 0, 1, 0), ("nothing_exported", 1))
    assert not (tmp_path / "out" / CHROMA).exists()


def test_all_attempts_stay_on_record_through_an_export_of_an_export(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with run_session(run, [ZOXIDE]) as session:
        solve(session, ZOXIDE, None)
        solve(session, ZOXIDE, "echo 1", attempt=2)
    export(run, tmp_path / "first")
    done = export(tmp_path / "first", tmp_path / "second")
    assert (done.numbers, done.ending) == ((1, 0, 0, 0), ("completed", 0))
    (account,) = (read_accounts(done.root, [ZOXIDE]) or {}).values()
    assert (account.solve_attempts, account.known_usd, account.repeats_undeclared) == (2, 1.0, 1)
    assert (account.status, account.reason_code) == ("completed", "exported")
    source = done.document.source
    assert source.command == "programbench export"
    assert [earlier["run_root"] for earlier in source.earlier] == [str(run)]
    third = export(tmp_path / "second", tmp_path / "third").document.source
    assert [earlier["run_root"] for earlier in third.earlier] == [str(tmp_path / "first"), str(run)]


def test_a_run_at_work_is_exported_and_said_to_be_at_work(run: Path, tmp_path: Path) -> None:
    lock = RunLock(run, "somebody")
    lock.acquire()
    try:
        assert export(run, tmp_path / "out").document.source.source_live is True
    finally:
        lock.release()


def test_nothing_is_solved_in_an_export(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out")
    with pytest.raises(PreflightRefused, match="is an export of") as caught:
        AdmittedConfiguration.hold_against(tmp_path / "out", "i", "n", [ZOXIDE], {}, accept_change=True)
    assert caught.value.reason == "resume_config_mismatch"


def test_console_answer_and_file_have_the_same_numbers(run: Path, tmp_path: Path) -> None:
    (run / CMATRIX / "submission.tar.gz").write_bytes(b"other")
    runs = tmp_path / "runs"
    places = ("--source", run, "--dest-run-id", "x", "--runs-root", runs)
    for name in (["export"], ["programbench", "export"]):
        done = obo(*name, *places, "--instance-ids", f"{ZOXIDE},{CMATRIX}", "--json")
        root = runs / "programbench" / "x"
        document = json.loads((root / "export_manifest.json").read_text())
        assert (done.status, done.envelope["outcome"]) == (1, "instances_failed")
        assert done.envelope["result"] == document
        assert done.envelope["run_root"] == str(root)
        totals = document["totals"]
        told = ", ".join(f"{totals[name]} {name}" for name in ("copied", "skipped", "missing", "corrupt"))
        assert f"{told} of {totals['requested']} requested" in done.stderr
        assert f"{CMATRIX}: corrupt: its sha256 is" in done.stderr
        assert done.manifest["harness"]["export"] == totals
    assert (totals["copied"], totals["skipped"], totals["corrupt"]) == (0, 1, 1)
    quiet = obo("export", *places, "--instance-ids", f"{ZOXIDE},{CMATRIX}", "-q")
    assert quiet.stderr == f"programbench export: instances_failed (exit status 1): {told} of 2 requested\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"dest": Path("x")}, "name one source"),
        ({"source": "a", "source_run_id": "b", "dest": Path("x")}, "name one source"),
        ({"source": "a"}, "name one destination"),
        ({"source": "a", "dest": Path("x"), "dest_run_id": "y"}, "name one destination"),
        ({"source": "a", "dest_run_id": "y/z"}, "--dest-run-id 'y/z' is not a run id"),
        ({"source_run_id": "..", "dest": Path("x")}, "--source-run-id '..' is not a run id"),
        ({"source": "", "dest": Path("x")}, "--source is empty"),
        ({"source": "a", "dest": Path("x"), "instance_ids": " ,"}, "names no instance"),
        ({"source": "a", "dest": Path("x"), "slice_": "a:b"}, "--slice 'a:b'"),
    ],
)
def test_arguments_that_mean_nothing_start_nothing(
    arguments: dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(told)):
        command(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_destination_is_a_usage_error(tmp_path: Path) -> None:
    done = obo("export", "--source", "a", "--dest", "", cwd=tmp_path)
    assert (done.status, list(tmp_path.iterdir())) == (2, [])
