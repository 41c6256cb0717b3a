"""Where an export may come from and where it may go."""

import os
import shutil
from pathlib import Path

import pytest

from obo_bench.core.files import read_json_object, sha256_file
from obo_bench.core.ledger import latest_rows
from obo_bench.programbench.admission.order import read_order
from tests.conftest import obo
from tests.export_case import export, refused
from tests.solved_run import CHROMA, CMATRIX, ZOXIDE, run_session, solve, solved_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return solved_run(tmp_path / "run", {CMATRIX: "echo 1", ZOXIDE: "echo 2"})


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def but_the_refusal(before: dict[str, bytes], root: Path) -> dict[str, bytes]:
    """What is new or changed and no record of the seam."""
    seam = ("run_manifest.json", "manifests/", ".run.lock")
    now = everything(root)
    assert before.keys() <= now.keys()
    return {name: data for name, data in now.items() if before.get(name) != data and not name.startswith(seam)}


@pytest.mark.parametrize("below", ["", "sub", f"{CMATRIX}/workspace/sub"])
def test_the_source_and_what_lies_in_it_are_no_destination(run: Path, tmp_path: Path, below: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(run)
    before = everything(run)
    assert refused(run, run / below).reason == "output_not_confined"
    assert refused(link, run / below).reason == "output_not_confined"
    assert refused(run, link / below).reason == "output_not_confined"
    assert everything(run) == before


def test_what_holds_the_source_is_no_destination(run: Path, tmp_path: Path) -> None:
    refusal = refused(run, tmp_path)
    assert refusal.reason == "output_not_confined"
    assert str(run) in refusal.message


def test_a_place_in_a_source_that_was_found_at_the_second_place_is_no_destination(run: Path, tmp_path: Path) -> None:
    before = everything(run)
    done = obo("export", "--runs-root", tmp_path / "runs", "--source", run.name, "--dest", run / "sub", cwd=tmp_path)
    assert done.status == 5, done.stderr
    assert "output_not_confined" in done.stderr
    assert {name for name in everything(run) if not name.startswith("sub/")} == before.keys()
    assert not list((run / "sub").glob("*/submission.tar.gz"))


@pytest.mark.parametrize("here", [".", ".."])
def test_the_current_directory_is_no_run_id(tmp_path: Path, here: str) -> None:
    solved_run(tmp_path / "runs" / "programbench" / "other", {CMATRIX: "echo 1"})
    done = obo("export", "--runs-root", tmp_path / "runs", "--source", here, "--dest", tmp_path / "d", cwd=tmp_path)
    assert done.status == 5
    assert "runs/programbench" not in done.stderr


def test_a_run_that_solves_is_no_destination(run: Path, tmp_path: Path) -> None:
    other = solved_run(tmp_path / "other", {CHROMA: "echo 3"}, nonce="22222222")
    before = everything(other)
    refusal = refused(run, other, overwrite=True)
    assert refusal.reason == "destination_taken"
    assert "'programbench run'" in refusal.message
    assert but_the_refusal(before, other) == {}
    assert everything(other)["run_manifest.json"] == before["run_manifest.json"]


def test_a_run_that_has_lost_its_manifest_is_no_destination(run: Path, tmp_path: Path) -> None:
    other = solved_run(tmp_path / "other", {CHROMA: "echo 3"}, nonce="22222222")
    (other / "run_manifest.json").unlink()
    before = everything(other)
    assert refused(run, other).reason == "destination_taken"
    assert but_the_refusal(before, other) == {}


def test_a_run_that_was_admitted_only_just_now_is_no_destination(run: Path, tmp_path: Path) -> None:
    with run_session(tmp_path / "new", []):
        pass
    assert refused(run, tmp_path / "new").reason == "destination_taken"


def test_a_directory_with_other_files_is_no_destination_however_often_it_is_tried(run: Path, tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.mkdir()
    (busy / "notes.txt").write_text("mine")
    before = everything(busy)
    for _ in range(2):
        refusal = refused(run, busy, overwrite=True)
        assert refusal.reason == "destination_taken"
        assert "'notes.txt'" in refusal.message
        assert but_the_refusal(before, busy) == {}
    (busy / "notes.txt").unlink()
    assert export(run, busy).numbers == (2, 0, 0, 0)


def test_a_way_out_of_the_destination_is_not_taken(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out", ZOXIDE)
    (tmp_path / "out" / CMATRIX).symlink_to(run / CMATRIX)
    before = everything(run)
    refusal = refused(run, tmp_path / "out", overwrite=True)
    assert (refusal.reason, everything(run)) == ("destination_taken", before)


def test_an_export_has_one_source(run: Path, tmp_path: Path) -> None:
    other = solved_run(tmp_path / "other", {CMATRIX: "echo 3"}, nonce="22222222")
    export(run, tmp_path / "out")
    before = everything(tmp_path / "out")
    refusal = refused(other, tmp_path / "out", overwrite=True)
    assert refusal.reason == "destination_taken"
    assert str(run) in refusal.message
    assert but_the_refusal(before, tmp_path / "out") == {}


def test_a_run_that_has_moved_is_still_the_same_source(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out")
    moved = run.rename(tmp_path / "moved")
    assert export(moved, tmp_path / "out").numbers == (0, 2, 0, 0)
    order = read_order(tmp_path / "out")
    assert order is not None
    assert order.exported_from is not None
    assert order.exported_from.run_root == str(moved)


def test_any_directory_of_submissions_is_a_source_that_nothing_vouches_for(run: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    for name in (CMATRIX, ZOXIDE, "not-an-id"):
        (bare / name).mkdir(parents=True)
        shutil.copy(run / CMATRIX / "submission.tar.gz", bare / name)
    (bare / CHROMA).mkdir()
    whole = bare / ZOXIDE / "submission.tar.gz"
    whole.write_bytes(whole.read_bytes()[:-20])
    done = export(bare, tmp_path / "out")
    assert done.reasons == {CMATRIX: "exported", ZOXIDE: "archive_unreadable"}
    assert (done.numbers, done.ending) == ((1, 0, 0, 1), ("instances_failed", 1))
    assert done.document.source.unverified_source
    assert done.document.instances[0].unverified
    assert any("'not-an-id'" in notice for notice in done.manifest["harness"]["notices"])
    again = export(tmp_path / "out", tmp_path / "verified", CMATRIX)
    assert not again.document.instances[0].unverified, "from here on a ledger vouches for it"
    assert again.document.source.earlier[0]["unverified_source"] is True


def test_an_instance_directory_brings_its_own_ledger(run: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    for name in (CMATRIX, ZOXIDE):
        shutil.copytree(run / name, bare / name)
    (bare / CMATRIX / "submission.tar.gz").write_bytes(b"other")
    done = export(bare, tmp_path / "out")
    assert done.reasons == {CMATRIX: "hash_differs", ZOXIDE: "exported"}
    assert not done.document.instances[1].unverified


def test_a_damaged_ledger_is_told_of(run: Path, tmp_path: Path) -> None:
    ledger = run / "result_index.jsonl"
    ledger.write_bytes(ledger.read_bytes() + b"torn")
    assert "torn or foreign" in str(export(run, tmp_path / "out").manifest["harness"]["notices"])


def test_a_record_that_names_a_way_out_of_the_source_is_not_followed(run: Path, tmp_path: Path) -> None:
    outside = f"../{CMATRIX}"
    shutil.copytree(run / CMATRIX, tmp_path / CMATRIX)
    with run_session(run, [outside, ZOXIDE]):
        pass
    done = export(run, tmp_path / "deep" / "out")
    assert list(done.reasons) == [ZOXIDE]
    assert refused(run, tmp_path / "deep" / "b", outside).reason == "unknown_instance"


@pytest.mark.parametrize("name", ["run_manifest.json", "instance_order.json", f"{CMATRIX}/submission.json"])
def test_a_fifo_in_a_source_does_not_hold_the_export(run: Path, tmp_path: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    done = obo("export", "--source", run, "--dest", tmp_path / "out", timeout=20)
    assert done.status == 0, done.stderr


def test_what_is_no_source_is_refused_with_near_names(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no record and no submissions" in refused(tmp_path / "empty", tmp_path / "a").message
    assert "did you mean run?" in refused(tmp_path / "rum", tmp_path / "b").message
    manifest = read_json_object(tmp_path / "b" / "run_manifest.json")
    assert manifest is not None
    assert manifest["extra"]["refusal"]["reason"] == "run_not_found"


def test_ids_are_looked_for_among_the_runs(tmp_path: Path, checkout: Path) -> None:
    runs = checkout.parent / "bench_runs"
    solved_run(runs / "programbench" / "full", {CMATRIX: "echo 1"})
    environment = {name: "" for name in os.environ if name == "OUROBOROS_BENCH_RUNS_ROOT"}
    line: list[str | Path] = ["export", "--source", "full", "--dest-run-id", "copy", "--repo-dir", checkout]
    done = obo(*line, "--json", env=environment, cwd=tmp_path)
    assert (done.status, done.envelope["run_root"]) == (0, str(runs / "programbench" / "copy"))
    assert done.manifest["source"]["head"]
    inside = obo("export", "--source", runs / "programbench" / "full", "--dest", checkout / "x", "--repo-dir", checkout)
    assert (inside.status, (checkout / "x").exists()) == (5, False)
    nowhere = obo("export", "--source-run-id", "full", "--dest", "x", env=environment, cwd=tmp_path)
    assert (nowhere.status, "give --runs-root or --repo-dir" in nowhere.stderr) == (2, True)


def test_a_resumed_run_is_exported_again_with_what_is_new(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(run, out, CMATRIX)
    with run_session(run, [CMATRIX, ZOXIDE, CHROMA]) as session:
        solve(session, CHROMA, "echo 3")
    done = export(run, out)
    assert (done.numbers, done.ending) == ((2, 1, 0, 0), ("completed", 0))
    recorded = {name: row.submission_sha256 for name, row in latest_rows(out / "result_index.jsonl").items()}
    assert recorded == {name: sha256_file(out / name / "submission.tar.gz") for name in (CMATRIX, ZOXIDE, CHROMA)}
