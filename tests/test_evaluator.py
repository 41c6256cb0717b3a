"""The evaluation without an engine: stand-in docker clients and official commands for each way to fail."""

import gzip
import json
import os
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from obo_bench.core.files import sha256_file
from obo_bench.programbench.evaluation import evaluator as evaluator_module
from obo_bench.programbench.evaluation.archive_check import archive_trouble
from obo_bench.programbench.evaluation.eval_files import eval_json_path, provenance_path
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict
from tests.evaluation_case import (
    DATA,
    INSTANCE,
    OTHER,
    alive,
    evaluate,
    pack,
    passing,
    put_old_pass,
    reason_of,
    stand_in,
    wait_until,
)

CANNOT_CONNECT = 'echo "Cannot connect to the Docker daemon" >&2; exit 1'


@pytest.fixture
def run_root(tmp_path: Path) -> Path:
    root = tmp_path / "run"
    root.mkdir()
    return root


def test_without_labels_nothing_is_run(run_root: Path) -> None:
    with pytest.raises(ValueError, match="needs labels"):
        evaluate(run_root, {}, labels={})


def test_a_dead_engine_leaves_the_old_pass_ungraded_and_kept_aside(run_root: Path, tmp_path: Path) -> None:
    sha = pack(run_root, INSTANCE, {})
    old = put_old_pass(run_root)
    outcome = evaluate(run_root, stand_in(tmp_path, CANNOT_CONNECT), submissions={INSTANCE: sha})
    assert reason_of(outcome) == ("RuntimeError", Blame.HOST)
    assert "Cannot connect" in outcome.summary.instances[INSTANCE].detail
    assert (outcome.status, outcome.ungraded_submissions) == ("completed", (INSTANCE,))
    assert (outcome.summary.official_listed, outcome.summary.official_mean_over_listed) == (0, None)
    assert not eval_json_path(run_root, INSTANCE).exists()
    assert (run_root / "eval" / "stale" / "inv-1" / f"{INSTANCE}.eval.json").read_bytes() == old
    record = json.loads((run_root / "programbench_eval_result.json").read_text(encoding="utf-8"))
    assert record["eval"]["returncode"] == 0
    assert "ERROR: RuntimeError" in record["eval"]["stdout"]
    assert record["eval"]["instances"][INSTANCE]["returncode"] == 0
    log = run_root / "eval" / "inv-1" / f"{INSTANCE}.stderr.log"
    assert "Cannot connect" in log.read_text(encoding="utf-8")
    assert record["info"]["returncode"] == 2, "without a file, `programbench info` has nothing to list"


def test_a_forced_evaluation_on_a_dead_engine_grades_no_earlier_result(run_root: Path, tmp_path: Path) -> None:
    sha = pack(run_root, INSTANCE, {})
    good = stand_in(tmp_path, evaluator=passing(run_root))
    assert evaluate(run_root, good, submissions={INSTANCE: sha}).summary.passed == 1
    proven = eval_json_path(run_root, INSTANCE).read_bytes()
    dead = stand_in(tmp_path, CANNOT_CONNECT)
    outcome = evaluate(run_root, dead, submissions={INSTANCE: sha}, invocation="inv-2", force=True)
    assert reason_of(outcome) == ("RuntimeError", Blame.HOST)
    assert outcome.summary.instances[INSTANCE].attempts == 2
    assert not eval_json_path(run_root, INSTANCE).exists()
    assert (run_root / "eval" / "stale" / "inv-2" / f"{INSTANCE}.eval.json").read_bytes() == proven


def test_what_an_ended_evaluator_wrote_is_distrusted(run_root: Path, tmp_path: Path) -> None:
    sha = pack(run_root, INSTANCE, {})
    target = eval_json_path(run_root, INSTANCE)
    false_failure = DATA / "interrupted-group.eval.json"
    client = f'case "$1" in run) cp "{false_failure}" "{target}"; kill -TERM $PPID; sleep 5 ;; esac'
    outcome = evaluate(run_root, stand_in(tmp_path, client), submissions={INSTANCE: sha})
    assert outcome.status == "interrupted"
    assert reason_of(outcome) == ("evaluator_interrupted", Blame.HOST)
    assert not target.exists()
    assert (run_root / "eval" / "stale" / "inv-1" / target.name).read_bytes() == false_failure.read_bytes()


@pytest.mark.parametrize(("status", "reason"), [(1, "evaluator_failed"), (130, "evaluator_interrupted")])
def test_a_file_of_an_evaluator_that_failed_is_not_graded(
    run_root: Path, tmp_path: Path, status: int, reason: str
) -> None:
    sha = pack(run_root, INSTANCE, {})
    environ = stand_in(tmp_path, evaluator=passing(run_root, then=f"exit {status}"))
    outcome = evaluate(run_root, environ, submissions={INSTANCE: sha})
    assert (outcome.status, reason_of(outcome)[0]) == (reason if status == 1 else "interrupted", reason)
    assert not eval_json_path(run_root, INSTANCE).exists()


def test_the_time_limit_ends_one_instance_with_all_it_has_started_and_the_others_keep_their_grades(
    run_root: Path, tmp_path: Path
) -> None:
    shas = {iid: pack(run_root, iid, {}) for iid in (OTHER, INSTANCE)}
    hang = f'trap "" TERM; echo $$ > {tmp_path}/pid; sleep 100; sleep 100'
    environ = stand_in(tmp_path, evaluator=passing(run_root, others=hang))
    outcome = evaluate(run_root, environ, requested_ids=(OTHER, INSTANCE), submissions=shas, timeout_sec=5.0)
    assert (outcome.status, outcome.ungraded_submissions) == ("timed_out", (OTHER,))
    assert reason_of(outcome, OTHER) == ("evaluator_timed_out", Blame.UNKNOWN)
    assert outcome.summary.instances[INSTANCE].verdict is Verdict.PASS
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text(encoding="utf-8"))))
    assert list(tmp_path.glob("obo-bench-*")) == []


def test_a_missing_client_is_told_and_not_raised(run_root: Path) -> None:
    outcome = evaluate(run_root, {"PATH": "/nonexistent"}, requested_ids=(INSTANCE, "no__one.0000000"))
    assert outcome.status == "evaluator_failed"
    assert reason_of(outcome) == ("evaluator_unavailable", Blame.HOST)
    assert outcome.summary.instances["no__one.0000000"].reason == "no_submission"


@pytest.mark.parametrize("trouble", [None, KeyboardInterrupt()])
def test_an_evaluation_that_does_not_begin_keeps_the_count_of_the_earlier_ones(
    run_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException | None
) -> None:
    shas = {INSTANCE: pack(run_root, INSTANCE, {})}
    environ = stand_in(tmp_path, "exit 1", passing(run_root))
    assert evaluate(run_root, environ, submissions=shas).summary.instances[INSTANCE].attempts == 1
    if trouble is None:
        evaluate(run_root, {"PATH": "/nonexistent"}, submissions=shas)
    else:
        monkeypatch.setattr(evaluator_module, "prepare_case", Mock(side_effect=trouble))
        with pytest.raises(KeyboardInterrupt):
            evaluate(run_root, environ, submissions=shas)
    row = json.loads((run_root / "grade_summary.json").read_text(encoding="utf-8"))["instances"][INSTANCE]
    assert (row["verdict"], row["attempts"]) == ("ungraded", 1)


def test_a_forced_evaluation_that_is_interrupted_keeps_the_grades_of_what_it_has_not_begun(
    run_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = {INSTANCE: pack(run_root, INSTANCE, {}), OTHER: pack(run_root, OTHER, {})}
    environ = stand_in(tmp_path, "exit 1", passing(run_root))
    evaluate(run_root, environ, requested_ids=(INSTANCE, OTHER), submissions=shas)
    put_old_pass(run_root, OTHER)
    monkeypatch.setattr(evaluator_module, "evaluate_instance", Mock(side_effect=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        evaluate(run_root, environ, requested_ids=(INSTANCE, OTHER), submissions=shas, force=True)
    summary = json.loads((run_root / "grade_summary.json").read_text(encoding="utf-8"))
    assert summary["evaluation_status"] == "interrupted"
    assert [(row["verdict"], row["attempts"]) for row in summary["instances"].values()] == [
        ("pass", 1),
        ("ungraded", 1),
    ]
    assert provenance_path(run_root, INSTANCE).exists()
    assert not eval_json_path(run_root, OTHER).exists(), "nothing proves it"


def test_what_cannot_be_evaluated_is_named(run_root: Path, tmp_path: Path) -> None:
    pack(run_root, INSTANCE, {"compile.sh": (b"", 0o755)})
    strange = pack(run_root, "no__one.0000000", {})
    ids = (INSTANCE, "no__one.0000000", OTHER, "gone__away.0000000")
    submissions = {INSTANCE: "f" * 64, ids[1]: strange, ids[2]: "e" * 64}
    outcome = evaluate(run_root, stand_in(tmp_path), requested_ids=ids, submissions=submissions)
    reasons = [row.reason for row in outcome.summary.instances.values()]
    assert reasons == ["submission_changed", "unknown_to_evaluator", "submission_missing", "no_submission"]
    assert list(outcome.summary.instances) == list(ids)
    assert (outcome.command, outcome.evaluated) == ((), ())
    assert outcome.ungraded_submissions == ids[:3]
    assert outcome.summary.official_benchmark_size == 200


def test_nothing_submitted_is_nothing_to_evaluate(run_root: Path, tmp_path: Path) -> None:
    put_old_pass(run_root)
    outcome = evaluate(run_root, stand_in(tmp_path), submissions={})
    assert (outcome.status, outcome.ungraded_submissions) == ("nothing_to_evaluate", ())
    assert reason_of(outcome) == ("no_submission", Blame.UNKNOWN)
    assert not eval_json_path(run_root, INSTANCE).exists(), "a file without an archive belongs to nobody"


WHOLE = gzip.compress(os.urandom(4096))
UNREADABLE = {
    "nothing": b"",
    "noise": os.urandom(4096),
    "cut": WHOLE[:-20],
    "wrong-checksum": WHOLE[:-8] + b"\0" * 8,
    "no-tar": WHOLE,
    "garbage-behind": gzip.compress(b"\0" * 10240) + b"more",
}
READABLE = {
    "empty-tar": gzip.compress(b"\0" * 10240),
    "empty-stream": gzip.compress(b""),
    "short": gzip.compress(b"x"),
    "two-members": gzip.compress(b"\0" * 5120) + gzip.compress(b"\0" * 5120),
}


@pytest.mark.parametrize("kind", [*UNREADABLE, *READABLE])
def test_an_archive_is_called_unreadable_only_where_tar_cannot_unpack_it(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "submission.tar.gz"
    archive.write_bytes((UNREADABLE | READABLE)[kind])
    refused = subprocess.run(["tar", "-tzf", archive], capture_output=True, check=False, timeout=10).returncode != 0
    assert (archive_trouble(archive) is not None) == refused == (kind in UNREADABLE)


def test_an_archive_that_nobody_can_unpack_is_the_submissions_fault(run_root: Path, tmp_path: Path) -> None:
    archive = run_root / INSTANCE / "submission.tar.gz"
    archive.parent.mkdir()
    archive.write_bytes(WHOLE[:-20])
    environ = stand_in(tmp_path, evaluator=passing(run_root))
    outcome = evaluate(run_root, environ, submissions={INSTANCE: sha256_file(archive)})
    assert reason_of(outcome) == ("submission_corrupt", Blame.SUBMISSION)
    assert outcome.evaluated == ()


def test_an_archive_that_is_replaced_during_its_evaluation_is_not_graded(run_root: Path, tmp_path: Path) -> None:
    sha = pack(run_root, INSTANCE, {})
    swap = f"echo other > {run_root}/{INSTANCE}/submission.tar.gz"
    environ = stand_in(tmp_path, evaluator=passing(run_root, then=swap))
    outcome = evaluate(run_root, environ, submissions={INSTANCE: sha})
    assert reason_of(outcome) == ("submission_changed", Blame.UNKNOWN)
    assert "during its evaluation" in outcome.summary.instances[INSTANCE].detail
    assert not provenance_path(run_root, INSTANCE).exists()


def test_an_image_that_changes_during_the_evaluation_gives_no_verdict(run_root: Path, tmp_path: Path) -> None:
    sha = pack(run_root, INSTANCE, {})
    inspect = f"""[ "$1" = image ] && printf '[{{"Id": "sha256:%s", "RepoDigests": []}}]' $(cat {tmp_path}/id)"""
    (tmp_path / "id").write_text("a", encoding="utf-8")
    change = passing(run_root, then=f"echo b > {tmp_path}/id")
    outcome = evaluate(run_root, stand_in(tmp_path, inspect, change), submissions={INSTANCE: sha})
    assert reason_of(outcome) == ("image_changed", Blame.HOST)
    steady = stand_in(tmp_path, inspect, passing(run_root))
    outcome = evaluate(run_root, steady, submissions={INSTANCE: sha}, invocation="inv-2")
    image = outcome.summary.instances[INSTANCE].image
    assert image is not None
    assert (image.evaluated, image.solved, image.same) == ("sha256:b", None, None)
    assert outcome.images[INSTANCE]["id"] == "sha256:b"


def test_a_selection_leaves_the_grades_and_files_of_the_others_as_they_are(run_root: Path, tmp_path: Path) -> None:
    shas = {iid: pack(run_root, iid, {}) for iid in (INSTANCE, OTHER, "no__one.0000000")}
    environ = stand_in(tmp_path, evaluator=passing(run_root, others="exit 9"))
    first = evaluate(run_root, environ, requested_ids=tuple(shas), submissions=shas, selected_ids=frozenset({INSTANCE}))
    assert [row.reason for row in first.summary.instances.values()] == [
        "all_tests_passed", "not_evaluated", "unknown_to_evaluator",
    ]  # fmt: skip
    assert first.ungraded_submissions == ()
    foreign = put_old_pass(run_root, OTHER)
    again = {"requested_ids": tuple(shas), "submissions": shas, "invocation": "inv-2"}
    second = evaluate(run_root, environ, selected_ids=frozenset({OTHER}), force=True, **again)
    assert second.summary.instances[INSTANCE] == first.summary.instances[INSTANCE]
    assert (second.evaluated, reason_of(second, OTHER)[0]) == ((OTHER,), "evaluator_failed")
    assert second.ungraded_submissions == (OTHER,)
    assert (run_root / "eval" / "stale" / "inv-2" / f"{OTHER}.eval.json").read_bytes() == foreign
    put_old_pass(run_root, OTHER)
    third = evaluate(run_root, environ, selected_ids=frozenset({INSTANCE}), **again | {"invocation": "inv-3"})
    assert (third.evaluated, reason_of(third, OTHER)[0]) == ((), "evaluator_failed")
    assert eval_json_path(run_root, OTHER).exists(), "what is not selected is left alone"
