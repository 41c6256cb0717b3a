"""`status`, `report` and `runs` of other launchers: only what they told is known, and no hint is for our runs alone."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli.status_text import status_lines
from obo_bench.core.result_reasons import LAUNCHER_REASONS
from obo_bench.report.document.build import build_report
from obo_bench.report.document.model import RunReport
from obo_bench.report.html.page import html
from obo_bench.report.markdown import markdown
from obo_bench.report.run_list import ListedRun, list_runs
from obo_bench.report.status.collect import StatusReader
from obo_bench.report.status.document import RunStatus
from tests.conftest import obo
from tests.exec_world import ExecWorld, shell
from tests.status_case import IDS, RecordedCase

ASKED = ("--task-id", "t1")
SECRET = "swordfish-0123456789"


@pytest.fixture
def world(tmp_path: Path, checkout: Path) -> ExecWorld:
    return ExecWorld(tmp_path / "else where", checkout)


@pytest.fixture
def case(tmp_path: Path) -> RecordedCase:
    return launched(tmp_path, "exec")


def launched(tmp_path: Path, command: str, name: str = "r", outcome: str = "started", **changes: Any) -> RecordedCase:
    """A record of another launcher, in a place with a blank in its name."""
    case = RecordedCase(tmp_path / "my runs", name)
    (case.root / "instance_order.json").unlink()
    case.manifest(outcome, command=command, **changes)
    return case


def status_of(root: Path) -> RunStatus:
    return StatusReader(root).read()


def listed(root: Path) -> ListedRun:
    [found] = [run for run in list_runs(root.parents[1]).runs if run.run_root == str(root)]
    return found


def fact(report: RunReport, name: str) -> str:
    return next((asked.value for asked in report.asked if asked.name == name), "")


def test_official_verdicts_of_rows_are_the_grades_wherever_a_run_is_looked_at(world: ExecWorld) -> None:
    (world.directory / "meta.json").write_text('{"d": ["one", "two", "three"]}')
    judge = "sleep 0.1; mkdir -p r/one r/two; echo 1.0 >r/one/result.txt; echo 0.5 >r/two/result.txt"
    words = ("--test_all_meta_path", "meta.json", "--result_dir", "r")
    root = world.run([*shell(judge), "x", *words], "--preset", "osworld").run_root
    status, report, entry = status_of(root), build_report(root), listed(root)
    assert status.grades is not None
    assert (status.grades.passed, status.grades.failed, status.grades.ungraded) == (1, 1, 1)
    assert status.evaluation.state == "completed"
    assert {one.instance_id: one.verdict for one in report.instances} == {"one": "pass", "two": "fail", "three": ""}
    assert report.grades is not None
    assert report.grades.document() == {"passed": 1, "failed": 1, "ungraded": 1}
    assert fact(report, "Official evaluation") == "as the launcher's rows say: 1 pass, 1 fail, 1 ungraded"
    assert (entry.passed, entry.not_passed, entry.ungraded) == (1, 1, 1)
    assert "| Passed | 1 |" in markdown(report)
    assert "<dt>Passed</dt><dd>1</dd>" in html(report)
    assert "not asked for" not in html(report) + markdown(report)


def test_a_launcher_that_told_nothing_did_not_do_all_that_was_asked_for(world: ExecWorld) -> None:
    root = world.run(["true"], *ASKED).run_root
    told = "The launcher ended with 0; it told nothing of the 1 requested instance(s)."
    status, report = status_of(root), build_report(root)
    assert (status.why, status.totals) == (told, {"unknown": 1})
    assert (report.ending.outcome, report.ending.words, report.counts) == ("completed", told, {"unknown": 1})
    assert (report.instances[0].reason, report.money.unknown_attempts) == ("no_result_reported", 1)
    assert "| Cost | unknown, 1 attempt(s) of unknown cost |" in markdown(report)
    world.run_id = "unasked"
    assert build_report(world.run(["true"]).run_root).ending.words.endswith("it told nothing of any instance.")
    world.run_id = "claiming"
    claim = '{"outcome": "completed", "completed_count": 2}'
    found = world.run(shell(f"echo '{claim}' >$OBO_BENCH_OUTCOME_FILE"), *ASKED)
    assert status_of(found.run_root).why.endswith("instance(s) but a claim of 2 completed.")


def test_an_instance_is_not_attempted_where_its_launcher_was_never_started(world: ExecWorld) -> None:
    root = world.run(["./no-such"], *ASKED).run_root
    status, report = status_of(root), build_report(root)
    assert (status.outcome, status.totals, report.counts) == ("refused", {"not_begun": 1}, {"not_attempted": 1})
    assert report.money.unknown_attempts == 0
    assert "of unknown cost" not in markdown(report)


def test_a_killed_launcher_is_gone_on_with_from_any_directory(world: ExecWorld, tmp_path: Path) -> None:
    script = world.directory / "solve.sh"
    script.write_text('#!/bin/sh\necho "$@"\n[ -e ready ] && exit 0\ntouch ready\nsleep 120\n')
    script.chmod(0o755)
    named = ["--runs-root", os.path.relpath(world.runs, world.directory), "--repo-dir"]
    line = [*named, os.path.relpath(world.checkout, world.directory), "--run-id", "r", *ASKED, "--no-server"]
    theirs = ["./solve.sh", "--run-id", "theirs", "--settings-path", "s.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "obo_bench", "exec", "--benchmark", "demo", *line, "--", *theirs],
        cwd=world.directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    world.until_ready()
    process.kill()
    process.wait()
    world.until(lambda: status_of(world.run_root).process.state == "killed")
    resume = status_of(world.run_root).resume
    assert resume is not None
    assert ".." not in resume.shell
    typed = resume.shell.replace("&& obo-bench", f"&& {shlex.quote(sys.executable)} -m obo_bench")
    done = subprocess.run(["sh", "-c", typed], cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (world.run_root / "child" / "output.log").read_text() == "--run-id theirs --settings-path s.json\n"
    assert status_of(world.run_root).outcome == "completed"


@pytest.mark.parametrize(
    ("words", "env", "option"),
    [
        (["--api-key", "[redacted]"], {}, "--api-key"),
        (["--key=[redacted]", "t1"], {}, "--key"),
        (["--key", SECRET], {"SOLVER_TOKEN": SECRET}, "--key"),
    ],
)
def test_a_line_with_a_secret_that_is_not_there_is_not_offered(
    case: RecordedCase, words: list[str], env: dict[str, str], option: str
) -> None:
    command = ["./solve.sh", *words]
    argv = ["obo-bench", "exec", "--benchmark", "b", "--", *command]
    case.manifest(command="exec", argv=argv, harness={"launcher": {"command": command, "cwd": "/some where"}})
    shown = obo("programbench", "status", case.root, env=env)
    assert (shown.status, SECRET in shown.stdout) == (0, False)
    assert not {"next:", "exec --benchmark"} & {word for word in ("next:", "exec --benchmark") if word in shown.stdout}
    assert f"in '/some where' as `argv` of run_manifest.json has it, and fill in every [redacted]: {option}\n" in (
        shown.stdout
    )
    resume = obo("programbench", "status", case.root, "--json", env=env).envelope["result"]["resume"]
    assert (resume["command"], resume["shell"]) == ([], "")


def test_a_launcher_that_records_itself_is_started_again_by_its_operator(tmp_path: Path) -> None:
    case = launched(tmp_path, "benchmark_run", argv=["predict.py", "--input", "x y"])
    status = status_of(case.root)
    assert (status.kind, status.totals) == ("benchmark_run", {"not_begun": 4})
    lines = status_lines(status)
    assert lines[0] == "benchmark_run r: killed, it died without an ending"
    assert not any(line.startswith("next:") for line in lines)
    again = f"start the launcher again with the same run_root '{case.root}'"
    assert lines[-2:] == ["to go on:", f"  {again}; its command line was: predict.py --input 'x y'"]
    assert again in build_report(case.root).ending.remedy


@pytest.mark.parametrize(
    ("command", "limited", "again"),
    [
        ("exec", "Time limit of the launcher", "repeat the command with the same --run-id r"),
        ("benchmark_run", "Time limit of one instance", "start the launcher again with the same run_root"),
    ],
)
def test_a_launchers_run_gets_no_hint_that_is_only_for_runs_of_ours(
    tmp_path: Path, command: str, limited: str, again: str
) -> None:
    case = launched(tmp_path, command, outcome="instances_failed", timeout_sec=2.0)
    case.row(IDS[0], "failed", "empty_prediction")
    case.row(IDS[1], "failed", "CalledProcessError")
    case.row(IDS[2], "not_attempted", "no_result_reported")
    case.row(IDS[3], "completed", "done")
    report = build_report(case.root)
    text = markdown(report) + html(report)
    for foreign in ("--retry", "server&#39;s own", "server's own", "submission", "no_ledger_row", "a resume"):
        assert foreign not in text.lower()
    assert f"{LAUNCHER_REASONS['empty_prediction']}: {again}" in report.instances[0].remedy
    assert report.instances[1].remedy.startswith(f"the launcher's own word: {again}")
    assert report.instances[2].remedy.startswith(f"{LAUNCHER_REASONS['no_result_reported']}: {again}")
    assert again in report.ending.remedy
    assert fact(report, limited) == "2.0 s"


@pytest.mark.parametrize(
    ("outcome", "ends"), [("started", "status"), ("interrupted", "cancel"), ("official_eval_error", "eval")]
)
def test_a_command_that_a_report_names_finds_the_run_from_anywhere(tmp_path: Path, outcome: str, ends: str) -> None:
    case = RecordedCase(tmp_path / "my runs", "killed")
    case.manifest(outcome)
    assert f"`obo-bench programbench {ends} '{case.root}'`" in build_report(case.root).ending.remedy


def test_why_a_launcher_was_stopped_is_told_and_where_its_log_is(world: ExecWorld) -> None:
    found = world.run(["sleep", "60"], "--timeout-sec", "1")
    log = f"'{found.run_root}/child/output.log'"
    status, report = status_of(found.run_root), build_report(found.run_root)
    assert "--timeout-sec" in status.why
    assert status.remedy == f"look into its log for more: {log}"
    assert "--timeout-sec" in report.ending.message
    assert report.ending.remedy == f"look into its log {log}, then repeat the command with the same --run-id r"
    world.run_id = "torn"
    torn = world.run(shell("echo '{' >$OBO_BENCH_OUTCOME_FILE")).run_root
    assert "the outcome file" in status_of(torn).why
    assert "the outcome file" in build_report(torn).ending.message


def test_an_older_record_tells_why_by_what_was_found(tmp_path: Path) -> None:
    found = {"stopped_for": "it has run for 1 s", "problems": ["a row is torn"]}
    case = launched(tmp_path, "exec", outcome="child_failed", extra={"child_report": found, "child_exit_code": 143})
    assert status_of(case.root).why == "it has run for 1 s; a row is torn"
    assert build_report(case.root).ending.message == "it has run for 1 s; a row is torn"


@pytest.mark.parametrize(
    ("cost", "bound"),
    [
        ({"usd": 0.25}, False),
        ({"usd": 0.25, "final": True}, False),
        ({"usd": 0.25, "final": False}, True),
        ({"usd": 0.25, "final": True, "lower_bound": True}, True),
    ],
)
def test_an_amount_is_a_lower_bound_for_all_or_for_none(
    tmp_path: Path, case: RecordedCase, cost: dict[str, object], bound: bool
) -> None:
    case.row(IDS[0], "completed", "done", cost=cost)
    case.manifest("completed", command="exec", requested_task_ids=[IDS[0]], extra={"cost": {"known_usd": 0.25}})
    [told], [reported] = status_of(case.root).instances, build_report(case.root).instances
    assert (told.cost_is_final, reported.cost_is_lower_bound) == (not bound, bound)
    assert ("≥ $0.25" in markdown(build_report(case.root))) == bound
    assert "of unknown cost" not in markdown(build_report(case.root))


def test_a_cost_that_no_row_tells_is_unknown_everywhere(case: RecordedCase) -> None:
    case.row(IDS[0], "completed", "done", cost={"usd": 0.25})
    case.row(IDS[1], "failed", "x")
    case.row(IDS[2], "not_attempted", "no_result_reported")
    counts = {"completed_count": 1, "failed_count": 1, "cost": {"known_usd": 0.25}}
    case.manifest("instances_failed", command="exec", requested_task_ids=list(IDS[:3]), extra=counts)
    report, entry = build_report(case.root), listed(case.root)
    assert (report.money.known_usd, report.money.unknown_attempts) == (0.25, 1)
    assert "| Cost | ≥ $0.25, 1 attempt(s) of unknown cost |" in markdown(report)
    assert [one.unknown_costs for one in report.instances] == [0, 1, 0]
    assert (entry.cost_usd, entry.cost_unknown, entry.cost_is_lower_bound) == (0.25, 1, True)


def test_what_a_launcher_that_records_itself_has_counted_is_its_cost(tmp_path: Path) -> None:
    cost = {"usd": 1.5, "source": "launcher"}
    case = launched(tmp_path, "benchmark_run", outcome="completed", extra={"completed_count": 4, "cost": cost})
    assert (listed(case.root).cost_usd, build_report(case.root).money.known_usd) == (1.5, 1.5)
