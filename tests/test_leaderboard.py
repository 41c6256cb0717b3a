"""Which results come into a leaderboard directory, and what never does."""

import json
from pathlib import Path

import pytest

from obo_bench.core.files import write_json
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.evaluation.eval_files import eval_json_path
from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.programbench.leaderboard.eval_copy import split
from tests.leaderboard_case import A, B, Run, snapshot


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_graded_run_becomes_a_directory_with_results_statistics_and_proofs(run: Run) -> None:
    result = run.export()
    assert (result.graded, result.left_out) == ([A, B], [])
    assert run.stats("cost") == {A: 1.5, B: 1.5}
    assert run.stats("calls") == {A: 10, B: 10}
    assert run.stats("tokens") == {A: 1000, B: 1000}
    files = snapshot(run.dest)
    for name in (f"{A}/{A}.eval.json", f"{A}/{A}.eval.provenance.json", f"{A}/submission.tar.gz"):
        assert files[name] == (run.root / name).read_bytes()
    assert (
        files[f"_record/run/{A}/ouroboros_task_body.json"] == (run.root / A / "ouroboros_task_body.json").read_bytes()
    )
    assert all(attestation.support == "supported" for attestation in result.attestations)


def test_the_same_export_again_changes_no_byte_and_says_the_same(run: Run) -> None:
    first, files = run.export(), snapshot(run.dest)
    assert run.export() == first
    assert snapshot(run.dest) == files


def test_the_result_is_a_copy_so_that_the_official_rewriting_cannot_reach_the_run(run: Run) -> None:
    run.export()
    for path in run.dest.rglob("*"):
        if path.is_file() and path.name != "submission.tar.gz":
            assert path.stat().st_nlink == 1, path


@pytest.mark.parametrize("log", ["file", "uploaded"])
def test_what_the_official_package_has_split_is_left_alone(run: Run, log: str) -> None:
    run.export()
    _split_in_place(run, uploaded=log == "uploaded")
    files = snapshot(run.dest)
    run.export()
    assert snapshot(run.dest) == files


def test_a_split_result_that_was_tampered_with_is_replaced_by_the_proven_one(run: Run) -> None:
    run.export()
    _split_in_place(run, uploaded=False)
    target = eval_json_path(run.dest, A)
    target.write_text(target.read_text().replace("failure", "passed"))
    run.export()
    assert target.read_bytes() == eval_json_path(run.root, A).read_bytes()
    assert not target.with_name(f"{A}.eval.log.json").exists()


def _split_in_place(run: Run, *, uploaded: bool) -> None:
    import hashlib

    target = eval_json_path(run.dest, A)
    light, heavy = split(json.loads(target.read_text()))
    target.write_text(json.dumps(light, indent=2))
    log = target.with_name(f"{A}.eval.log.json")
    if uploaded:
        digest = hashlib.sha256(json.dumps(heavy).encode()).hexdigest()
        log.with_name(log.name + ".sha256").write_text(digest + "\n")
        log.with_name(log.name + ".url").write_text("https://example.org/log\n")
    else:
        log.write_text(json.dumps(heavy))


def test_a_result_of_another_archive_is_left_out(run: Run) -> None:
    (run.root / B / "submission.tar.gz").write_bytes(b"replaced after its evaluation")
    result = run.export()
    assert result.graded == [A]
    assert [(out.instance_id, out.reason) for out in result.left_out] == [(B, "grade_of_another_archive")]
    assert not eval_json_path(run.dest, B).exists()
    assert B not in run.stats("cost")


def test_a_result_that_was_changed_after_its_evaluation_is_left_out(run: Run) -> None:
    path = eval_json_path(run.root, B)
    path.write_text(path.read_text().replace("failure", "passed"))
    assert [(out.instance_id, out.reason) for out in run.export().left_out] == [(B, "grade_not_proven")]


def test_an_ungraded_instance_is_left_out_although_its_file_is_there(run: Run) -> None:
    run.grade(B, Verdict.UNGRADED, "results_read_failed")
    out = run.export().left_out[0]
    assert (out.instance_id, out.reason, out.detail) == (B, "ungraded", "results_read_failed")


def test_missing_archives_and_the_fixture_are_listed(tmp_path: Path) -> None:
    fixture = "testorg__calculator.abc1234"
    run = Run(tmp_path, [A, B, fixture])
    (run.root / B / "submission.tar.gz").unlink()
    reasons = {out.instance_id: out.reason for out in run.export().left_out}
    assert reasons == {B: "submission_missing", fixture: "not_a_benchmark_instance"}
    assert "`submission_missing`" not in run.readme()
    assert "submission_missing" in run.readme()


def test_without_any_proven_result_nothing_is_written(run: Run) -> None:
    for iid in run.ids:
        run.grade(iid, Verdict.UNGRADED, "evaluator_interrupted")
    with pytest.raises(PreflightRefused) as refused:
        run.export()
    assert refused.value.reason == "leaderboard_not_possible"
    assert A in refused.value.message
    assert "evaluator_interrupted" in refused.value.message
    assert set(snapshot(run.dest)) == {f"{A}/submission.tar.gz", f"{B}/submission.tar.gz"}


def test_results_of_other_instances_in_the_destination_are_refused(run: Run) -> None:
    strange = run.dest / "owner__other.0000003"
    strange.mkdir(parents=True)
    (strange / f"{strange.name}.eval.json").write_text("{}")
    with pytest.raises(PreflightRefused) as refused:
        run.export()
    assert (refused.value.reason, strange.name in refused.value.message) == ("leaderboard_not_possible", True)


def test_an_unproven_result_in_the_destination_is_set_aside(run: Run) -> None:
    run.export()
    run.grade(B, Verdict.UNGRADED, "evaluator_interrupted")
    run.export()
    assert not eval_json_path(run.dest, B).exists()
    assert (run.dest / B / f"{B}.eval.json.unproven").is_file()


def test_an_export_is_no_source_because_it_forgets_attempts(run: Run) -> None:
    run.order["exported_from"] = {"run_root": "/runs/first"}
    with pytest.raises(PreflightRefused) as refused:
        run.export()
    assert (refused.value.reason, "/runs/first" in refused.value.message) == ("leaderboard_not_possible", True)
    assert not (run.dest / "_record").exists()


def test_no_record_passes_for_the_ledger_of_an_instance(run: Run) -> None:
    run.export()
    assert not list(run.dest.glob("*/result_index.jsonl"))


def test_links_are_no_records(run: Run, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret of another place")
    (run.root / A / "instruction.txt").symlink_to(tmp_path / "private")
    run.export()
    assert not (run.dest / "_record" / "run" / A / "instruction.txt").exists()


def test_a_directory_that_is_a_link_holds_no_records(run: Run, tmp_path: Path) -> None:
    elsewhere = tmp_path / "private"
    elsewhere.mkdir()
    (elsewhere / "instruction.txt").write_text("secret of another place")
    (run.root / A / "attempts").mkdir()
    (run.root / A / "attempts" / "01").symlink_to(elsewhere)
    (run.root / "manifests").symlink_to(elsewhere)
    (elsewhere / "x.json").write_text("{}")
    run.export()
    record = run.dest / "_record" / "run"
    assert not (record / A / "attempts" / "01" / "instruction.txt").exists()
    assert not (record / "manifests" / "x.json").exists()


def test_a_run_that_is_named_by_a_link_has_its_records(run: Run, tmp_path: Path) -> None:
    run.root.rename(tmp_path / "elsewhere")
    run.root.symlink_to(tmp_path / "elsewhere")
    run.export()
    assert (run.dest / "_record" / "run" / A / "cleanroom.json").exists()


def test_a_separate_evaluation_is_part_of_the_record_and_of_the_way_to_repeat_it(run: Run) -> None:
    second = run.root / "eval" / "manifests"
    second.mkdir()
    for number, path in enumerate((second / "first.json", run.root / "eval" / "run_manifest.json")):
        argv = ["obo-bench", "eval", "r", "--workers", str(number + 1)]
        told = {"command": "programbench eval", "argv": argv, "created_at_unix": 1796003500.0 + number}
        write_json(path, run.manifest | told)
    run.export()
    record = run.dest / "_record" / "run" / "eval"
    assert (record / "run_manifest.json").is_file()
    assert (record / "manifests" / "first.json").is_file()
    assert (record / "invocation-1" / "host_load.json").is_file()
    lines = ["obo-bench programbench run --run-id r", "obo-bench eval r --workers 1", "obo-bench eval r --workers 2"]
    assert "\n".join(lines) in run.readme()
