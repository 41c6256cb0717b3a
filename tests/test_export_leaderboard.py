"""`export --leaderboard`: what it adds, what its manifest says of it, and what it refuses."""

from pathlib import Path

import pytest

from obo_bench.core import ending
from obo_bench.core.documents import read_document
from obo_bench.programbench.exporting.export_manifest import ExportManifest
from tests.export_case import export, refused
from tests.leaderboard_case import A, B, Run
from tests.solved_run import CMATRIX, solved_run


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
