"""`export --leaderboard`: what it adds, what its manifest says of it, and what it refuses."""

import errno
from pathlib import Path

import pytest

from obo_bench.core import ending
from obo_bench.core.documents import read_document
from obo_bench.core.files import read_whole
from obo_bench.core.reporter import SilentReporter
from obo_bench.programbench.exporting.export_manifest import ExportManifest
from obo_bench.programbench.leaderboard import eval_copy
from tests.export_case import export, refused
from tests.leaderboard_case import A, B, Run
from tests.solved_run import CMATRIX, run_session, solve, solved_run


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """A run whose two instances have a proven official result."""
    run = Run(tmp_path)
    run.export()
    return run.root


def test_the_leaderboard_is_built_from_what_was_exported(graded: Path, tmp_path: Path) -> None:
    done = export(graded, tmp_path / "board", leaderboard=True)
    assert (done.numbers, done.ending) == ((2, 0, 0, 0), ("completed", 0))
    assert done.document.leaderboard is not None
    assert done.document.leaderboard["graded"] == [A, B]
    added = {f"{A}/{A}.eval.json", "_stats/cost.json", "README.md", "submission.yaml"}
    assert added <= done.files
    again = export(graded, tmp_path / "board", leaderboard=True)
    assert (again.numbers, again.ending) == ((0, 2, 0, 0), ("completed", 0))
    assert again.files >= done.files


def test_without_it_no_result_is_taken_along(graded: Path, tmp_path: Path) -> None:
    done = export(graded, tmp_path / "out")
    assert done.document.leaderboard is None
    assert not [name for name in done.files if "eval" in name or "_stats" in name]


def test_a_run_without_grades_is_exported_before_the_leaderboard_is_refused(tmp_path: Path) -> None:
    run = solved_run(tmp_path / "run", {CMATRIX: "echo 1"})
    assert refused(run, tmp_path / "out", leaderboard=True).reason == "leaderboard_not_possible"
    manifest = ending.concluded()
    assert manifest is not None
    assert manifest["harness"]["export"]["copied"] == 1
    assert read_document(ExportManifest, tmp_path / "out" / "export_manifest.json").totals.copied == 1
    assert export(run, tmp_path / "out").numbers == (0, 1, 0, 0)


def test_a_leaderboard_entry_is_not_changed_by_a_plain_export(graded: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    made = export(graded, board, leaderboard=True)
    same = export(graded, board, overwrite=True)
    assert (same.numbers, same.document.leaderboard) == ((0, 2, 0, 0), made.document.leaderboard)

    with run_session(graded, [A, B]) as session:
        solve(session, B, "echo another", attempt=2)
    before = {path: path.read_bytes() for path in board.glob("o*/*")} | {board: (board / "README.md").read_bytes()}
    refusal = refused(graded, board, overwrite=True)
    assert refusal.reason == "destination_taken"
    assert f"this is a leaderboard entry, and the archive of {B} would change: repeat with --leaderboard" in (
        refusal.message
    )
    assert {path: (path if path != board else board / "README.md").read_bytes() for path in before} == before
    assert export(graded, board).reasons[B] == "destination_differs", "nothing of it changes"
    assert refused(graded, board, overwrite=True).reason == "destination_taken"
    (board / B / "submission.tar.gz").unlink()
    assert refused(graded, board).reason == "destination_taken", "an archive that is brought changes it, too"
    again = export(graded, board, leaderboard=True)
    assert again.document.leaderboard is not None
    assert [out["instance_id"] for out in again.document.leaderboard["left_out"]] == [B]


class Heard(SilentReporter):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, text: str, subject: str = "") -> None:
        self.told.append(text + subject)


def test_a_leaderboard_that_is_refused_says_what_was_exported(tmp_path: Path) -> None:
    run, heard = solved_run(tmp_path / "run", {CMATRIX: "echo 1"}), Heard()
    assert refused(run, tmp_path / "out", leaderboard=True, reporter=heard).reason == "leaderboard_not_possible"
    assert "the archives are there: 1 copied, 0 skipped, 0 missing, 0 corrupt of 1 requested" in heard.told


def test_a_record_of_the_source_that_cannot_be_read_is_no_fault_of_the_destination(
    graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = graded / A / "cleanroom.json"

    def fails(path: Path) -> bytes:
        if path == broken:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return read_whole(path)

    monkeypatch.setattr(eval_copy, "read_whole", fails)
    heard = Heard()
    refusal = refused(graded, tmp_path / "out", leaderboard=True, reporter=heard)
    assert refusal.reason == "leaderboard_not_possible"
    assert f"a record of the source cannot be read: {str(broken)!r}: Input/output error" in refusal.message
    assert any(text.startswith("the archives are there: 2 copied") for text in heard.told)


@pytest.mark.parametrize("name", ["_record", "_stats", "_scripts"])
def test_a_way_out_of_the_leaderboard_entry_is_not_taken(graded: Path, tmp_path: Path, name: str) -> None:
    export(graded, tmp_path / "board")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "board" / name).symlink_to(tmp_path / "elsewhere")
    assert refused(graded, tmp_path / "board", leaderboard=True).reason == "destination_taken"
    assert list((tmp_path / "elsewhere").iterdir()) == []
