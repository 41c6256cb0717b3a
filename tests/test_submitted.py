"""`eval` and `export` agree on what a directory is about, and on what vouches for its archives."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from obo_bench.core.ledger import Ledger
from obo_bench.core.redact import Redactor
from obo_bench.programbench.admission.order import read_order
from tests.conftest import obo
from tests.evaluation_case import INSTANCE, OTHER, pack
from tests.export_case import export
from tests.test_eval_command import NEVER, eval_, grade_of, make_run, row, world


def a_run(root: Path) -> None:
    make_run(root)


def a_run_without_its_order(root: Path) -> None:
    make_run(root)
    (root / "instance_order.json").unlink()
    names = {"command": "programbench run", "requested_task_ids": [INSTANCE, OTHER, NEVER]}
    (root / "run_manifest.json").write_text(json.dumps(names))


def an_export(root: Path) -> None:
    make_run(root.parent / "solved")
    export(root.parent / "solved", root)


def a_prepared_run(root: Path) -> None:
    """As `prepare` leaves it: no manifest, no order, and one instance that was blocked."""
    make_run(root)
    (root / "run_manifest.json").unlink()
    (root / "instance_order.json").unlink()


def copied_instances(root: Path) -> None:
    """Directories of a run's instances: their own ledgers tell, and nothing else."""
    a_prepared_run(root)
    (root / "result_index.jsonl").unlink()
    (root / NEVER).mkdir()
    Ledger(root / NEVER, "solve", Redactor()).append(row("failed", NEVER))


def a_bare_directory(root: Path) -> None:
    pack(root, INSTANCE, {})
    pack(root, OTHER, {})


ALL = {INSTANCE, OTHER, NEVER}
CASES = [
    (a_run, ALL, set()),
    (a_run_without_its_order, ALL, set()),
    (an_export, ALL, set()),
    (a_prepared_run, ALL, set()),
    (copied_instances, ALL, set()),
    (a_bare_directory, {INSTANCE, OTHER}, {INSTANCE, OTHER}),
]


@pytest.mark.parametrize(("make", "asked", "unvouched"), CASES, ids=[make.__name__ for make, _, _ in CASES])
def test_both_commands_read_a_directory_alike(
    tmp_path: Path, make: Callable[[Path], None], asked: set[str], unvouched: set[str]
) -> None:
    root = tmp_path / "source"
    make(root)
    brought = export(root, tmp_path / "out").document
    assert {entry.instance_id for entry in brought.instances} == asked
    assert {entry.instance_id for entry in brought.instances if entry.unverified} == unvouched
    assert {entry.instance_id for entry in brought.instances if entry.sha256} == {INSTANCE, OTHER}

    had_ledger = (root / "result_index.jsonl").exists()
    done = eval_(root, env=world(tmp_path, root))
    assert done.status == 6, done.stderr
    assert set(done.manifest["requested_task_ids"]) == asked
    assert done.manifest["harness"]["submission_hashes"] == ("taken_now" if unvouched else "ledger")
    assert {iid: grade_of(root, iid)["verdict"] for iid in (INSTANCE, OTHER)} == {INSTANCE: "pass", OTHER: "ungraded"}
    assert (root / "result_index.jsonl").exists() == had_ledger, "a first ledger would speak for the selected ones only"


def test_an_archive_that_its_own_ledger_does_not_know_is_replaced_for_neither(tmp_path: Path) -> None:
    root = tmp_path / "source"
    copied_instances(root)
    (root / INSTANCE / "submission.tar.gz").write_bytes(b"another")
    assert export(root, tmp_path / "out").reasons[INSTANCE] == "hash_differs"
    eval_(root, env=world(tmp_path, root))
    assert grade_of(root, INSTANCE)["reason"] == "submission_changed"


def test_an_instance_without_a_ledger_among_others_is_taken_as_it_is_by_both(tmp_path: Path) -> None:
    root = tmp_path / "source"
    copied_instances(root)
    (root / INSTANCE / "result_index.jsonl").unlink()
    brought = export(root, tmp_path / "out").document
    assert [entry.instance_id for entry in brought.instances if entry.unverified] == [INSTANCE]
    done = obo("eval", root, env=world(tmp_path, root))
    assert "no ledger vouches for the archives of 1 instance(s)" in done.stderr
    assert grade_of(root, INSTANCE)["verdict"] == "pass"


@pytest.mark.parametrize("told", [True, False], ids=["the manifest names them", "nothing names them"])
def test_an_order_that_cannot_be_read_matters_only_where_nothing_else_tells_the_instances(
    tmp_path: Path, told: bool
) -> None:
    root = tmp_path / "source"
    a_run_without_its_order(root)
    (root / "instance_order.json").write_text("{")
    if not told:
        (root / "run_manifest.json").unlink()
    out = obo("export", "--source", root, "--dest", tmp_path / "out", "--json")
    done = eval_(root, env=world(tmp_path, root))
    if told:
        assert (out.status, read_order(tmp_path / "out") is not None, done.status) == (0, True, 6)
        assert "instance_order.json" in str(done.manifest["harness"]["notices"])
        return
    assert [answer.envelope["refusal"]["reason"] for answer in (out, done)] == ["resume_config_mismatch"] * 2


def test_a_directory_copied_without_its_ledgers_is_bare(tmp_path: Path) -> None:
    a_run(tmp_path / "solved")
    for iid in (INSTANCE, OTHER):
        (tmp_path / "bare" / iid).mkdir(parents=True)
        shutil.copy(tmp_path / "solved" / iid / "submission.tar.gz", tmp_path / "bare" / iid)
    done = eval_(tmp_path / "bare", env=world(tmp_path, tmp_path / "bare"))
    assert done.manifest["harness"]["submission_hashes"] == "taken_now"
