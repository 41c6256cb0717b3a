"""`status` as a command: which record is meant, what is said of its process, and what it leaves untouched."""

import json
import os
import shlex
import time
from pathlib import Path

import pytest

from obo_bench.cli.status_text import status_lines
from obo_bench.core.documents import parse_document
from obo_bench.core.files import write_json
from obo_bench.report.named_record import named_record
from obo_bench.report.status.collect import StatusReader
from obo_bench.report.status.document import RunStatus
from tests.conftest import Done, obo
from tests.help_pages import parsed
from tests.solved_run import solved_run
from tests.status_case import IDS, RecordedCase, snapshot


@pytest.fixture
def case(tmp_path: Path) -> RecordedCase:
    return RecordedCase(tmp_path / "runs")


def show(case: RecordedCase, *more: str) -> Done:
    return obo("programbench", "status", *more, "--runs-root", case.runs_root)


def test_the_latest_run_is_shown_and_nothing_of_it_changes(case: RecordedCase) -> None:
    case.created -= 100
    case.done(IDS[0])
    case.task(IDS[1], "running")
    case.manifest()
    RecordedCase(case.runs_root, "newer").manifest("completed")
    before = snapshot(case.runs_root)
    latest, named = show(case), show(case, "r", "--json")
    assert snapshot(case.runs_root) == before
    assert (latest.status, named.status) == (0, 0)
    assert latest.stdout.startswith("run newer: completed (exit status 1)\n")
    found = named.envelope["result"]
    assert parse_document(RunStatus, json.dumps(found).encode()).document() == found
    assert (found["run_id"], found["outcome"], found["totals"]["left"]) == ("r", "killed", 1)


def test_a_killed_run_ends_with_the_command_that_goes_on_with_it(case: RecordedCase) -> None:
    case.done(IDS[0])
    told = show(case).stdout
    assert told.startswith("run r: killed, it died without an ending\n")
    assert "a resume would: skip 1, solve 3\n" in told
    argv = shlex.split(told.splitlines()[-1].removeprefix("next: "))
    assert argv[:5] == ["obo-bench", "programbench", "run", "--slice", "0:4"]
    options = {argv[at]: argv[at + 1] for at in range(3, len(argv), 2)}
    expected = {"--run-id": "r", "--repo-dir": "/srv/ouroboros", "--runs-root": str(case.runs_root)}
    assert options == {"--slice": "0:4", **expected}


def test_what_a_resume_must_not_or_cannot_repeat_is_told(case: RecordedCase) -> None:
    argv = ["obo-bench", "programbench", "run", "--redo-existing", "--repo-dir=.", "--settings-path", "s.json"]
    origins = {"repo_dir": "flag", "memory": "environment OBO_BENCH_MEMORY", "runs_root": "environment RUNS"}
    harness = {"ouroboros_url": case.url, "settings": {"path": "/srv/data/settings.json"}, "origins": origins}
    case.manifest(argv=argv, harness=harness)
    resume = StatusReader(case.root).read().resume
    assert resume is not None
    assert "--redo-existing" not in resume.command
    assert resume.command[3:6] == ["--repo-dir=/srv/ouroboros", "--settings-path", "/srv/data/settings.json"]
    assert any("OBO_BENCH_MEMORY" in note and "RUNS" not in note.split() for note in resume.notes)


def test_a_long_list_of_steps_is_cut(tmp_path: Path) -> None:
    case = RecordedCase(tmp_path / "runs", ids=[f"a__b.{number:07d}" for number in range(30)])
    lines = status_lines(StatusReader(case.root).read())
    assert "  and 10 more, all in the answer of --json" in lines
    assert sum(": solve: attempt 1 begins" in line for line in lines) == 20


def test_a_practice_is_gone_on_with_by_practice(tmp_path: Path) -> None:
    case = RecordedCase(tmp_path / "bench_runs", ids=["practice__a.0000001"])
    argv = ["obo-bench", "programbench", "run", "--run-id", "r", "--eval"]
    case.manifest(argv=argv, harness={"practice": str(tmp_path)})
    resume = StatusReader(case.root).read().resume
    assert resume is not None
    assert resume.command == ["obo-bench", "practice", "--directory", str(tmp_path), "--run-id", "r"]
    assert resume.notes == []


def test_where_a_resume_would_leave_all_alone_it_is_not_suggested(case: RecordedCase) -> None:
    for name in IDS[:2]:
        case.done(name, official_eval_status="pass")
    for name, reason in zip(IDS[2:], ("round_limit", "empty_final_text"), strict=True):
        case.row(name, "failed", reason, details={"infrastructure": False})
    case.manifest("instances_failed")
    done = show(case)
    again = next(line for line in done.stdout.splitlines() if line.startswith("to solve them again: "))
    assert again.endswith(" --retry round_limit --retry empty_final_text")
    assert parsed(again.removeprefix("to solve them again: ")) == "programbench run"
    assert "next: " not in done.stdout
    assert done.stderr.splitlines()[-1] == f"next: obo-bench programbench report {case.root}"
    assert "next: " not in obo("programbench", "report", case.root).stderr, "status would lead back to the report"


def test_what_was_solved_among_failures_is_graded_first(case: RecordedCase) -> None:
    case.done(IDS[0])
    for name in IDS[1:]:
        case.row(name, "failed", "round_limit", details={"infrastructure": False})
    case.manifest("instances_failed")
    assert show(case).stderr.splitlines()[-1] == f"next: obo-bench eval {case.root}"


def test_a_failed_practice_is_solved_again_by_practice(tmp_path: Path) -> None:
    case = RecordedCase(tmp_path / "bench_runs", ids=["practice__a.0000001"])
    case.row(case.ids[0], "failed", "empty_final_text", details={"infrastructure": False})
    argv = ["obo-bench", "programbench", "run", "--run-id", "r", "--eval"]
    case.manifest("instances_failed", argv=argv, harness={"practice": str(tmp_path)})
    practice = f"obo-bench practice --directory {tmp_path} --run-id r --retry empty_final_text"
    assert f"to solve them again: {practice}\n" in show(case).stdout


def test_a_finished_run_has_nothing_left_to_resume(case: RecordedCase) -> None:
    for name in IDS:
        case.done(name)
    case.manifest("completed")
    done = show(case)
    assert "a resume would" not in done.stdout
    assert "4 completed" in done.stdout


def test_a_run_that_does_not_exist_is_refused_with_near_names(case: RecordedCase) -> None:
    RecordedCase(case.runs_root, "smoke-1")
    missing = show(case, "smoke-2", "--json")
    assert (missing.status, missing.envelope["refusal"]["reason"]) == (5, "run_not_found")
    assert "smoke-1" in missing.envelope["refusal"]["message"]
    assert show(case, "").status == 2
    empty = obo("programbench", "status", "--runs-root", case.runs_root / "elsewhere", "--json")
    assert (empty.status, empty.envelope["refusal"]["reason"]) == (5, "run_not_found")


def test_without_a_run_and_without_a_place_of_runs_the_usage_is_told(tmp_path: Path) -> None:
    done = obo("programbench", "status", cwd=tmp_path, env={"OUROBOROS_BENCH_RUNS_ROOT": ""})
    assert (done.status, done.stdout) == (2, "")
    assert "--runs-root" in done.stderr


def test_a_process_that_only_cancels_or_evaluates_is_told_by_what_it_does(case: RecordedCase) -> None:
    case.manifest("completed")
    with case.held("cancel-20260101-000000-abc"):
        cancelling = StatusReader(case.root).read()
    assert (cancelling.process.state, cancelling.process.command) == ("alive", "programbench cancel")
    assert cancelling.requested == len(IDS)
    evaluation = {"command": "programbench eval", "invocation": "e-1", "created_at_unix": time.time(), "extra": {}}
    (case.root / "eval" / "e-1").mkdir(parents=True)
    write_json(case.root / "eval" / "run_manifest.json", evaluation)
    (case.root / "eval" / "e-1" / f"{IDS[0]}.stdout.log").touch()
    with case.held("e-1"):
        evaluating = StatusReader(case.root).read()
    assert evaluating.process.command == "programbench eval"
    assert (evaluating.evaluation.state, evaluating.evaluation.begun, evaluating.evaluation.finished) == (
        "running",
        1,
        0,
    )
    assert evaluating.command == "programbench run"


def test_a_resume_that_is_not_through_its_gates_yet_is_the_one_at_work(case: RecordedCase) -> None:
    case.manifest("interrupted")
    standing = json.loads((case.root / "run_manifest.json").read_text())
    (case.root / "manifests").mkdir()
    write_json(case.root / "manifests" / "r-2.json", {**standing, "invocation": "r-2", "extra": {"outcome": "started"}})
    with case.held("r-2"):
        status = StatusReader(case.root).read()
    assert (status.process.invocation, status.outcome) == ("r-2", "started")


@pytest.mark.parametrize(
    ("command", "kind", "place"),
    [
        ("programbench export", "export", "programbench"),
        ("attest", "attest", "attest"),
        ("programbench attest", "attest", "attest"),
    ],
)
def test_other_records_are_understood(tmp_path: Path, command: str, kind: str, place: str) -> None:
    root = tmp_path / "runs" / place / "x"
    manifest = {"command": command, "invocation": "i", "created_at_unix": 1.0, "argv": ["obo-bench", "export"]}
    write_json_at(root / "run_manifest.json", {**manifest, "extra": {"outcome": "completed", "exit_code": 0}})
    status = StatusReader(named_record("x", tmp_path / "runs")).read()
    assert (status.kind, status.outcome, status.resume) == (kind, "completed", None)
    write_json_at(root / "run_manifest.json", {**manifest, "extra": {"outcome": "started"}})
    killed = StatusReader(root).read()
    assert killed.outcome == "killed"
    assert killed.resume is not None
    assert killed.resume.shell == "obo-bench export"


def test_a_gate_is_shown_as_one_in_its_own_directory_and_never_instead_of_its_run(case: RecordedCase) -> None:
    case.manifest("completed")
    gate = {"command": "programbench gate", "invocation": "g", "created_at_unix": time.time() + 9, "argv": []}
    (case.root / "gate").mkdir()
    write_json(
        case.root / "gate" / "run_manifest.json", {**gate, "extra": {"outcome": "gate_inconclusive", "exit_code": 6}}
    )
    shown = StatusReader(case.root / "gate").read()
    assert (shown.kind, shown.command, shown.outcome) == ("gate", "programbench gate", "gate_inconclusive")
    assert StatusReader(case.root).read().kind == "run"


def test_a_preparation_is_known_by_its_instances(tmp_path: Path) -> None:
    case = RecordedCase(tmp_path / "runs", "prepared")
    (case.root / "run_manifest.json").unlink()
    (case.root / "instance_order.json").unlink()
    for name, outcome in ((IDS[0], "completed"), (IDS[1], "started")):
        extra = {"outcome": outcome, "exit_code": 0}
        told = {"command": "programbench prepare", "invocation": name, "created_at_unix": 1.0, "extra": extra}
        write_json_at(case.root / name / "run_manifest.json", told)
    case.done(IDS[0])
    status = StatusReader(named_record("prepared", case.runs_root)).read()
    assert (status.kind, status.outcome, status.totals) == ("prepared", "killed", {"completed": 1})
    with case.held(IDS[1], where=case.root / IDS[1]):
        assert StatusReader(case.root).read().process.state == "alive"


def test_foreign_text_cannot_drive_the_terminal_or_flood_it(case: RecordedCase) -> None:
    nasty = "\x1b[2J[bold]x[/bold]\r\n\u202e" + "y" * 100_000
    case.row(IDS[0], "failed", nasty, error=nasty, details={"infrastructure": True, "task_id": nasty})
    case.manifest("instances_failed", harness={"ouroboros_url": case.url, "solve_model": nasty})
    done = obo("programbench", "status", case.root, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.status == 0, done.stderr
    assert not {"\x1b", "\r", "\u202e"} & set(done.stdout)
    assert max(map(len, done.stdout.splitlines())) < 5000


def test_a_long_text_is_cut_between_words_and_that_is_shown(case: RecordedCase) -> None:
    case.row(IDS[0], "failed", "round_limit", error="forty-two " * 40)
    lines = [line for line in status_lines(StatusReader(case.root).read()) if "forty-two" in line]
    assert len(lines) == 2  # of the instance, and of the event
    assert all(line.endswith("forty-two ...") for line in lines)


def test_what_the_product_leaves_is_understood(tmp_path: Path) -> None:
    root = solved_run(
        tmp_path / "runs" / "programbench" / "made", {"a__a.0000001": "#!/bin/sh\n", "b__b.0000002": None}
    )
    status = StatusReader(root).read()
    assert (status.kind, status.process.state, status.outcome) == ("run", "ended", "completed")
    assert [(one.state, one.cost_usd, one.attempt) for one in status.instances] == [
        ("completed", 0.5, 1),
        ("failed", 0.5, 1),
    ]
    assert status.money.known_usd == 1.0
    assert [one.next_step.step for one in status.instances if one.next_step] == ["skip", "keep"]


def write_json_at(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, value)


def test_a_fifo_in_the_place_of_a_document_holds_nobody(case: RecordedCase) -> None:
    for name in ("run_manifest.json", "grade_summary.json"):
        (case.root / name).unlink(missing_ok=True)
        os.mkfifo(case.root / name)
    assert StatusReader(case.root).read().kind == "other"
