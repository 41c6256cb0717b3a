"""What goes wrong with one instance of an export is typed and counted, and the others go on."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.core import ending
from obo_bench.core.documents import read_document
from obo_bench.core.files import sha256_file
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.core.signals import Interrupted
from obo_bench.programbench.evaluation.eval_files import EvalProvenance, eval_json_path, write_provenance
from obo_bench.programbench.exporting import transfer
from obo_bench.programbench.exporting.export_manifest import ExportManifest
from tests.export_case import export, refused
from tests.solved_run import CMATRIX, ZOXIDE, run_session, solve, solved_run

ARCHIVE = f"{CMATRIX}/submission.tar.gz"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return solved_run(tmp_path / "run", {CMATRIX: "echo 1", ZOXIDE: "echo 2"})


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here: that needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def replace_archive(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"something else")


def cut_archive(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-9])


def put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "reason", "numbers"),
    [
        (replace_archive, "hash_differs", (1, 0, 0, 1)),
        (cut_archive, "hash_differs", (1, 0, 0, 1)),
        (put_fifo, "archive_unreadable", (1, 0, 0, 1)),
        (put_directory, "archive_unreadable", (1, 0, 0, 1)),
        (Path.unlink, "archive_missing", (1, 0, 1, 0)),
    ],
)
def test_an_archive_that_is_not_the_recorded_one_stays_behind(
    run: Path, tmp_path: Path, damage: Callable[[Path], None], reason: str, numbers: tuple[int, ...]
) -> None:
    damage(run / ARCHIVE)
    done = export(run, tmp_path / "out")
    assert done.reasons == {CMATRIX: reason, ZOXIDE: "exported"}
    assert (done.numbers, done.ending) == (numbers, ("instances_failed", 1))
    assert not list((tmp_path / "out" / CMATRIX).glob("*.tar.gz*")) + list((tmp_path / "out" / CMATRIX).glob(".sub*"))
    row = done.rows[CMATRIX]
    assert (row.status, row.reason_code, row.prediction_written, row.submission_sha256) == ("failed", reason, False, "")


def test_a_good_copy_in_the_destination_outlives_damage_to_the_source(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out")
    replace_archive(run / ARCHIVE)
    done = export(run, tmp_path / "out")
    assert (done.numbers, done.ending) == ((0, 2, 0, 0), ("completed", 0))


def test_another_archive_in_the_destination_is_replaced_only_when_asked(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(run, out)
    replace_archive(out / ARCHIVE)
    graded = eval_json_path(out, CMATRIX)
    graded.write_text("{}")
    done = export(run, out)
    assert (done.reasons[CMATRIX], done.ending) == ("destination_differs", ("instances_failed", 1))
    assert (out / ARCHIVE).read_bytes() == b"something else"
    assert graded.exists()
    again = export(run, out, overwrite=True)
    assert (again.numbers, again.ending) == ((1, 1, 0, 0), ("completed", 0))
    assert sha256_file(out / ARCHIVE) == sha256_file(run / ARCHIVE)
    assert not graded.exists(), "the result of another archive is set aside"
    assert len(list((out / "eval" / "stale").rglob("*.eval.json"))) == 1


def leave_result(root: Path, sha256: str) -> Path:
    """Leave a result with our proof of which archive it belongs to."""
    result = eval_json_path(root, CMATRIX)
    result.write_text("{}")
    proof = EvalProvenance(
        instance_id=CMATRIX, submission_sha256=sha256, evaluator_version="1", tests_digest="d",
        eval_json_sha256=sha256_file(result), invocation="i", started_at_unix=1.0, finished_at_unix=2.0,
    )  # fmt: skip
    write_provenance(root, proof)
    return result


def test_no_result_of_another_archive_ever_lies_beside_the_new_one(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill at the moment when the new archive gets its name must not leave the old result as its own."""
    exported = export(run, tmp_path / "out")
    result = leave_result(exported.root, sha256_file(exported.root / ARCHIVE))
    with run_session(run, [CMATRIX, ZOXIDE]) as session:
        solve(session, CMATRIX, "echo 3", attempt=2)
    seen = []
    monkeypatch.setattr(transfer, "sync_directory", lambda _: seen.append(result.exists()))
    export(run, tmp_path / "out", CMATRIX, overwrite=True)
    assert seen == [False]


def test_the_result_of_an_archive_that_was_lost_belongs_to_no_other(run: Path, tmp_path: Path) -> None:
    root = export(run, tmp_path / "out").root
    result = leave_result(root, sha256_file(root / ARCHIVE))
    (root / ARCHIVE).unlink()
    export(run, tmp_path / "out", CMATRIX)
    assert result.exists(), "the same archive is there again"
    (root / ARCHIVE).unlink()
    with run_session(run, [CMATRIX, ZOXIDE]) as session:
        solve(session, CMATRIX, "echo 3", attempt=2)
    export(run, tmp_path / "out", CMATRIX)
    assert not result.exists()


def test_what_the_source_does_not_hand_in_any_more_is_not_left_to_be_graded(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(run, out)
    (run / ARCHIVE).unlink()
    with run_session(run, [CMATRIX, ZOXIDE]) as session:
        solve(session, CMATRIX, None, attempt=2)
    done = export(run, out)
    assert (done.reasons[CMATRIX], done.ending) == ("destination_differs", ("instances_failed", 1))
    assert not done.rows[CMATRIX].submission_sha256
    again = export(run, out, overwrite=True)
    assert (again.numbers, again.ending) == ((0, 1, 1, 0), ("completed", 0))
    assert [path.name for path in (out / CMATRIX).iterdir()] == ["result_index.jsonl"]


def test_a_place_that_cannot_be_written_costs_one_instance(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(run, out, ZOXIDE)
    (out / CMATRIX).write_text("a file")
    done = export(run, out, CMATRIX)
    assert done.reasons == {ZOXIDE: "already_exported", CMATRIX: "destination_unwritable"}
    assert (done.numbers, done.ending) == ((0, 1, 1, 0), ("instances_failed", 1))


def test_a_full_disk_costs_what_does_not_fit(tmp_path: Path, disk: Path) -> None:
    run = solved_run(tmp_path / "run", {CMATRIX: os.urandom(400_000).hex(), ZOXIDE: "echo 2"})
    done = export(run, disk / "out")
    assert done.reasons == {CMATRIX: "destination_unwritable", ZOXIDE: "exported"}
    assert "No space left on device" in done.document.instances[0].detail
    assert (done.numbers, done.ending) == ((1, 0, 1, 0), ("instances_failed", 1))
    assert done.document.instances[1].method == "copy", "another file system shares nothing"
    assert not list((disk / "out" / CMATRIX).glob(".*"))


def test_a_destination_without_room_for_the_record_is_refused(run: Path, disk: Path) -> None:
    (disk / "out").mkdir()
    export(run, disk / "out", ZOXIDE)
    with contextlib.suppress(OSError), (disk / "stuffing").open("wb", buffering=0) as stuffing:
        while True:
            stuffing.write(b"x" * 512)
    refusal = refused(run, disk / "out")
    assert isinstance(refusal, PreflightRefused)
    assert refusal.reason == "run_root_unwritable"
    (disk / "stuffing").unlink()
    assert export(run, disk / "out").numbers == (1, 1, 0, 0)


def test_a_ledger_that_cannot_be_written_is_refused_before_anything_is_copied(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(run, out, ZOXIDE)
    (out / "result_index.jsonl").unlink()
    (out / "result_index.jsonl").mkdir()
    refusal = refused(run, out)
    assert (refusal.reason, (out / ARCHIVE).exists()) == ("run_root_unwritable", False)
    assert "repeat the command" in refusal.remedy


class Interrupting(SilentReporter):
    """A reporter in whose hands the operator presses Ctrl-C."""

    def event(self, text: str, subject: str = "") -> None:
        del subject
        if text.startswith("copied"):
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupted_export_says_how_far_it_came_and_is_resumed_by_repeating_it(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        export(run, out, reporter=Interrupting())
    manifest = ending.concluded()
    assert manifest is not None
    assert (manifest["extra"]["outcome"], manifest["extra"]["exit_code"]) == ("interrupted", 130)
    document = read_document(ExportManifest, out / "export_manifest.json")
    assert [entry.reason for entry in document.instances] == ["exported", "not_attempted"]
    assert not list(out.rglob("*.incoming"))
    done = export(run, out)
    assert (done.numbers, done.ending) == ((1, 1, 0, 0), ("completed", 0))
