"""What a report tells of runs in every state, and that its numbers are those of the record."""

import json
import shutil
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from obo_bench.core.documents import read_document
from obo_bench.core.manifest import Outcome
from obo_bench.core.refusals import BenchmarkAdmissionRefused
from obo_bench.programbench.evaluation.grade_summary import GradeSummary
from obo_bench.report.document.build import build_report
from obo_bench.report.document.figures import distribution
from obo_bench.report.document.model import InstanceReport, RunReport
from obo_bench.report.document.outcome_words import OUTCOMES
from obo_bench.report.html.page import html
from obo_bench.report.markdown import markdown
from tests.export_case import export
from tests.report_case import long_run, row
from tests.solved_run import CHROMA, CMATRIX, ZOXIDE, run_session, solved_run

OLDER = Path(__file__).parent / "data" / "older"
INFRASTRUCTURE = ("failed", "executor_lost", {"infrastructure": True})
AGENT = ("failed", "task_not_completed", {"infrastructure": False})
DONE = ("completed", "submission_prepared", {"infrastructure": False})


def of(report: RunReport, instance_id: str) -> InstanceReport:
    return next(instance for instance in report.instances if instance.instance_id == instance_id)


def verdict(report: RunReport, name: str) -> str:
    return next(str(finding.verdict) for finding in report.findings if finding.name == name)


def older(tmp_path: Path, name: str, **changes: Any) -> Path:
    document = json.loads((OLDER / f"{name}.run_manifest.json").read_text())
    document["extra"].update(changes)
    (tmp_path / "run_manifest.json").write_text(json.dumps(document))
    return tmp_path


def test_every_number_is_the_one_of_the_record(tmp_path: Path) -> None:
    root = long_run(tmp_path / "r", 40)
    summary, report = read_document(GradeSummary, root / "grade_summary.json"), build_report(root)
    assert report.scores is not None
    assert report.scores.official_mean_over_listed == summary.official_mean_over_listed
    assert report.scores.official_benchmark_size == summary.official_benchmark_size == 41
    assert report.scores.shrunken_diagnostic_not_leaderboard_valid
    assert (report.scores.passed, report.scores.ungraded) == (summary.passed, summary.ungraded)
    assert sum(column.count for column in report.scores.distribution) == summary.shrunken_denominator.graded
    assert summary.solves is not None
    assert report.money.known_usd == summary.solves.known_usd
    assert report.money.unknown_attempts == summary.solves.unknown_costs > 0
    assert report.money.at_most_usd is None
    assert report.attempts.undeclared == summary.solves.repeats_undeclared > 0
    assert verdict(report, "Repeats") == "failed"
    assert len(report.timeline) == sum(len(instance.attempts) for instance in report.instances)
    assert {bar.lane for bar in report.timeline} == set(range(8))


def test_attempts_that_overlap_are_on_different_lines(tmp_path: Path) -> None:
    bars = build_report(long_run(tmp_path / "r", 40)).timeline
    lanes: dict[int, float] = {}
    for bar in bars:
        assert bar.start_unix >= lanes.get(bar.lane, 0.0)
        lanes[bar.lane] = bar.end_unix


def test_scores_at_the_edges_stand_alone() -> None:
    columns = {column.label: column.count for column in distribution([0.0, 0.05, 0.3, 0.95, 0.999, 1.0, 1.0])}
    assert {label: count for label, count in columns.items() if count} == {
        "0": 1,
        "0.0-0.1": 1,
        "0.3-0.4": 1,
        "0.9-1.0": 2,
        "1": 2,
    }


def test_an_ungraded_run_has_no_scores_and_tells_why_instances_have_no_submission(tmp_path: Path) -> None:
    report = build_report(solved_run(tmp_path / "r", {CMATRIX: "#!/bin/sh\n", ZOXIDE: None}))
    assert report.scores is None
    assert (of(report, CMATRIX).verdict, of(report, CMATRIX).cost_usd) == ("", 0.5)
    [failure] = report.failures
    assert (failure.kind, failure.reason, failure.instance_ids) == ("solve", "task_not_completed", [ZOXIDE])
    assert "--retry task_not_completed" in failure.remedy
    assert {artifact.name for artifact in of(report, CMATRIX).artifacts} >= {"submission", "ledger", "workspace"}
    assert all((tmp_path / "r" / artifact.path).exists() for i in report.instances for artifact in i.artifacts)


def test_an_unknown_cost_is_unknown_and_not_zero(tmp_path: Path) -> None:
    with run_session(tmp_path / "r", [CMATRIX, ZOXIDE]) as session:
        row(session, CMATRIX, DONE, cost={"usd": None}, durations={"solve": 5.0})
        row(session, ZOXIDE, AGENT, cost={"usd": 1.25, "final": True}, durations={"solve": 5.0})
    report = build_report(tmp_path / "r")
    assert (of(report, CMATRIX).cost_usd, of(report, CMATRIX).unknown_costs) == (None, 1)
    assert (report.money.known_usd, report.money.unknown_attempts, report.money.lower_bound) == (1.25, 1, True)


def test_a_running_run_is_told_to_run_and_a_killed_one_how_to_go_on(tmp_path: Path) -> None:
    with run_session(tmp_path / "r", [CMATRIX]):
        running = build_report(tmp_path / "r").ending
    killed = build_report(older(tmp_path, "started")).ending
    assert (running.outcome, running.alive, running.remedy) == ("running", True, "")
    assert (killed.outcome, killed.alive) == ("killed", False)
    assert f"--run-id {tmp_path.name}" in killed.remedy


def test_a_refused_run_tells_what_was_found_and_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(BenchmarkAdmissionRefused),
        run_session(tmp_path / "r", [CMATRIX]),
    ):
        raise BenchmarkAdmissionRefused("seed_dirty", "it is dirty <b>")
    ending = build_report(tmp_path / "r").ending
    assert (ending.outcome, ending.exit_code, ending.reason) == ("refused", 4, "seed_dirty")
    assert (ending.message, ending.remedy) == ("it is dirty <b>", "commit or stash the changes listed above")


def test_a_rehearsal_is_none_of_a_failure(tmp_path: Path) -> None:
    with run_session(tmp_path / "r", [CMATRIX]) as session:
        session.conclude("dry_run", 0)
    report = build_report(tmp_path / "r")
    assert (report.ending.outcome, report.money.known_usd, report.attempts.attempts) == ("dry_run", 0.0, 0)


def test_an_export_is_reported_on(tmp_path: Path) -> None:
    solved = solved_run(tmp_path / "r", {CMATRIX: "#!/bin/sh\n", ZOXIDE: None})
    export(solved, tmp_path / "out")
    report = build_report(tmp_path / "out")
    assert (report.run.command, report.ending.outcome) == ("programbench export", "completed")
    assert {artifact.name for artifact in of(report, CMATRIX).artifacts} >= {"submission"}
    assert report.money.known_usd == 1.0


def test_documents_of_an_older_version_are_reported_on(tmp_path: Path) -> None:
    root = older(tmp_path, "completed")
    for name in ("result_index.jsonl", "grade_summary.json"):
        shutil.copy(OLDER / name, root)
    report = build_report(root)
    assert report.scores is not None
    assert (report.scores.requested, report.scores.near_resolved, len(report.instances)) == (3, None, 3)
    assert (verdict(report, "Clean seed"), verdict(report, "Server"), verdict(report, "Ledger")) == ("ok", "ok", "ok")


def test_a_manifest_of_another_tool_proves_little_and_that_is_said(tmp_path: Path) -> None:
    document = {"schema": "ouroboros.benchmark.run_manifest.v1", "benchmark": "swebench", "created_at_unix": 1.5e9}
    (tmp_path / "run_manifest.json").write_text(json.dumps({**document, "run_root": "/elsewhere"}))
    report = build_report(tmp_path)
    assert {verdict(report, name) for name in ("Checkout", "Clean seed", "Server", "Model", "Images")} == {"unknown"}


def test_what_cannot_be_read_is_noted(tmp_path: Path) -> None:
    (tmp_path / "run_manifest.json").write_text('{"schema": ')
    (tmp_path / "result_index.jsonl").write_bytes(b"\xff garbage\n")
    (tmp_path / "grade_summary.json").mkdir()
    report = build_report(tmp_path)
    assert report.ending.outcome == "unknown"
    assert [note.partition(":")[0] for note in report.notes] == [
        "run_manifest.json",
        "grade_summary.json",
        "result_index.jsonl",
    ]


def test_a_ledger_that_was_changed_is_found_out(tmp_path: Path) -> None:
    root = solved_run(tmp_path / "r", {CMATRIX: None, ZOXIDE: None, CHROMA: None})
    ledger = root / "result_index.jsonl"
    assert verdict(build_report(root), "Ledger") == "ok"
    ledger.write_text(ledger.read_text().replace("0.5", "0.1", 1))
    assert verdict(build_report(root), "Ledger") == "failed"


def test_a_grade_of_an_earlier_submission_is_no_grade_of_this_one(tmp_path: Path) -> None:
    root = long_run(tmp_path / "r", 8)
    ids = [instance.instance_id for instance in build_report(root).instances]
    graded = next(instance_id for instance_id in ids if of(build_report(root), instance_id).submission_sha256)
    assert verdict(build_report(root), "Evaluation") == "ok"
    with run_session(root, ids) as session:
        row(session, graded, DONE, attempt=9, durations={"solve": 1.0})
    assert verdict(build_report(root), "Evaluation") == "failed"


def test_waivers_are_named_also_those_of_earlier_invocations(tmp_path: Path) -> None:
    root = older(tmp_path, "completed", runtime_attestation={"overridden": True, "ok": True, "runtime_version": "7"})
    (root / "manifests").mkdir()
    earlier = json.loads((OLDER / "completed.run_manifest.json").read_text())
    earlier["seed_gate"].update(reason="seed_dirty", ok=True)
    (root / "manifests" / "first.json").write_text(json.dumps({**earlier, "invocation": "first"}))
    report = build_report(root)
    assert report.waivers == ["--allow-dirty-seed", "OBO_ALLOW_EVOLVED_VOLUME"]
    assert verdict(report, "Server") == "waived"
    assert [made.invocation for made in report.invocations][:1] == ["first"]


def test_two_runs_are_compared_by_the_instances_that_both_have_a_score_for(tmp_path: Path) -> None:
    here, there = long_run(tmp_path / "a", 40, seed=1), long_run(tmp_path / "b", 40, seed=2)
    found = build_report(here, there).compared
    assert found is not None
    both = [p for p in found.rows if p.score is not None and p.other_score is not None]
    assert found.pairs == len(both) == found.better + found.equal + found.worse
    assert found.better == sum((p.score or 0) > (p.other_score or 0) for p in both)
    assert found.mean_difference == pytest.approx((found.mean or 0) - (found.other_mean or 0))
    assert found.unpaired > 0
    same = build_report(here, here).compared
    assert same is not None
    assert (same.better, same.worse, same.equal) == (0, 0, same.pairs)


def test_every_outcome_has_its_words() -> None:
    assert set(get_args(Outcome)) <= set(OUTCOMES)


def test_a_resumed_task_counts_from_its_submission_by_the_wall_clock(tmp_path: Path) -> None:
    now = time.time()
    resumed = {"resumed_task": {"submitted_unix": now - 60, "ended_unix": now - 33}}
    with run_session(tmp_path / "r", [CMATRIX, ZOXIDE]) as session:
        fields: dict[str, Any] = {"durations": {"solve": 0.062, "package": 0.04}}
        row(session, CMATRIX, ("completed", "submission_prepared", {"infrastructure": False, **resumed}), **fields)
        row(session, CMATRIX, ("completed", "submission_prepared", {"infrastructure": False, **resumed}), **fields)
        left = ("failed", "interrupted", {"infrastructure": True})
        row(session, ZOXIDE, left, durations={"prepare": 4.0, "solve": 6.0})
        row(session, ZOXIDE, DONE, durations={"solve": 3.0, "package": 0.5})
    report = build_report(tmp_path / "r")
    assert of(report, CMATRIX).seconds == pytest.approx(27.04)
    [attempt] = of(report, CMATRIX).attempts
    assert (attempt.by_wall_clock, attempt.durations) == (True, {"solve": 27.0, "package": 0.04})
    bar = next(bar for bar in report.timeline if bar.instance_id == CMATRIX)
    assert bar.start_unix == pytest.approx(now - 60)
    assert list(bar.durations) == ["solve", "left", "package"]
    assert sum(bar.durations.values()) == pytest.approx(bar.end_unix - bar.start_unix, abs=0.01)
    [two] = of(report, ZOXIDE).attempts
    assert (two.status, two.by_wall_clock) == ("completed", False)
    assert two.durations == {"prepare": 4.0, "solve": 9.0, "package": 0.5}


def test_a_run_counts_all_its_invocations_and_a_killed_one_is_called_killed(tmp_path: Path) -> None:
    root, legs = older(tmp_path, "completed"), tmp_path / "manifests"
    legs.mkdir()
    manifest = json.loads((root / "run_manifest.json").read_text())
    begun = manifest["created_at_unix"] = 1.7e9
    manifest["extra"]["finished_at_unix"] = begun + 2.0
    (root / "run_manifest.json").write_text(json.dumps(manifest))
    for name, since, outcome, end in (("one", 500.0, "started", None), ("two", 300.0, "completed", 62.5)):
        finished = None if end is None else begun - since + end
        extra = {**manifest["extra"], "outcome": outcome, "finished_at_unix": finished}
        earlier = {**manifest, "invocation": name, "created_at_unix": begun - since, "extra": extra}
        (legs / f"{name}.json").write_text(json.dumps(earlier))
    report = build_report(root)
    assert (report.run.begun_at_unix, report.run.created_at_unix) == (begun - 500.0, begun)
    assert (report.run.worked_sec, report.run.worked_is_lower_bound) == (64.5, True)
    assert [made.outcome for made in report.invocations] == ["killed", "completed", "completed"]
    (tmp_path / "logs").mkdir()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begun - 480))
    (tmp_path / "logs" / "one.log").write_text(f"{stamp}.500Z the last sign\n")
    assert build_report(root).run.worked_sec == pytest.approx(64.5 + 20.5)


def test_an_interrupted_run_warns_of_tasks_only_where_some_were_left(tmp_path: Path) -> None:
    root = older(tmp_path, "completed", outcome="interrupted", exit_code=130, still_running=[])
    ending = build_report(root).ending
    assert "No task of it was left running" in ending.words
    assert "cancel" not in ending.remedy
    task = {"instance_id": CMATRIX, "task_id": "t", "container": "c"}
    for outcome in ("interrupted", "stopped_provenance"):
        ending = build_report(older(tmp_path, "completed", outcome=outcome, still_running=[task])).ending
        assert "1 task(s) may still run, and spend, at the server" in ending.words
        assert "cancel" in ending.remedy
    manifest = json.loads((root / "run_manifest.json").read_text())
    del manifest["extra"]["still_running"]
    manifest["extra"]["outcome"] = "interrupted"
    (root / "run_manifest.json").write_text(json.dumps(manifest))
    assert "Tasks that were running may still run" in build_report(root).ending.words


@pytest.mark.parametrize(
    ("ids", "model", "told"),
    [
        (["practice__a.0000001"], "practice::scripted-solver", "the solver is scripted, the scores mean nothing"),
        (["practice__a.0000001"], "openai::gpt-5.5", "practice programs, the scores mean nothing"),
        ([CMATRIX], "practice::scripted-solver", "the solver is scripted, the scores mean nothing"),
        ([CMATRIX, "practice__a.0000001"], "openai::gpt-5.5", ""),
    ],
)
def test_a_practice_run_is_told_to_be_one(tmp_path: Path, ids: list[str], model: str, told: str) -> None:
    with run_session(tmp_path / "r", ids) as session:
        session.manifest.harness["solve_model"] = model
    report = build_report(tmp_path / "r")
    assert told in report.run.practice
    assert bool(told) == bool(report.run.practice)
    assert (report.run.practice in html(report)) == (report.run.practice in markdown(report)) is True
    assert ('class="banner"' in html(report)) is bool(told)


def test_an_evaluation_by_the_run_is_a_bar_of_its_own(tmp_path: Path) -> None:
    root = long_run(tmp_path / "r", 6)
    path = root / "grade_summary.json"
    summary = json.loads(path.read_text())
    graded = next(iid for iid, grade in summary["instances"].items() if grade["score"] is not None)
    assert {bar.kind for bar in build_report(root).timeline} == {"attempt"}
    summary["invocation"] = json.loads((root / "run_manifest.json").read_text())["invocation"]
    end = max(bar.end_unix for bar in build_report(root).timeline)
    for iid, grade in summary["instances"].items():
        times = (end + 1, end + 9) if iid == graded else (None, None)
        grade["started_at_unix"], grade["finished_at_unix"] = times
    path.write_text(json.dumps(summary))
    [bar] = [bar for bar in build_report(root).timeline if bar.kind == "evaluation"]
    assert (bar.instance_id, bar.durations) == (graded, {"evaluation": 8.0})
