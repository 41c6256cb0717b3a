"""`runs`: every record below the runs root, one line each, however many there are and whatever state they are in."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from obo_bench.cli.status_text import status_lines
from obo_bench.core.documents import parse_document
from obo_bench.core.files import write_json
from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.programbench.no_run import holds_only_refusals
from obo_bench.report.known_runs import known_run_ids, newest_first
from obo_bench.report.named_record import named_record
from obo_bench.report.run_list import RunList, list_runs
from obo_bench.report.status.collect import StatusReader
from tests.conftest import Done, obo
from tests.status_case import IDS, RecordedCase


def show(runs_root: Path, *more: str) -> Done:
    return obo("runs", "--runs-root", runs_root, *more)


def made(runs_root: Path, name: str, age_sec: float, outcome: str = "completed", **changes: object) -> RecordedCase:
    case = RecordedCase(runs_root, name)
    case.created -= age_sec
    case.manifest(outcome, **changes)
    return case


@pytest.fixture
def runs_root(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    counts = {"completed_count": 3, "failed_count": 1, "not_attempted_count": 0}
    cost = {"known_usd": 12.5, "unknown": 1, "lower_bound": True}
    graded = made(root, "old-graded", 300, "instances_failed", extra={**counts, "cost": cost})
    summary = {"pass": 2, "fail": 1, "ungraded": 1, "official_mean_over_benchmark": 0.015, "instances": {}}
    write_json(graded.root / "grade_summary.json", summary)
    killed = made(root, "killed", 200, "started")
    killed.done(IDS[0], cost={"usd": 0.5, "final": True, "lower_bound": False})
    killed.row(IDS[1], "failed", "round_limit")
    attest = {"command": "attest", "invocation": "i", "created_at_unix": time.time() - 100}
    (root / "attest" / "seen").mkdir(parents=True)
    write_json(root / "attest" / "seen" / "run_manifest.json", {**attest, "extra": {"outcome": "refused"}})
    return root


def test_records_of_all_kinds_are_listed_newest_first(runs_root: Path) -> None:
    done = show(runs_root)
    head, *lines = [line.split() for line in done.stdout.splitlines()]
    assert head[:3] == ["RUN", "KIND", "OUTCOME"]
    assert [line[:3] for line in lines] == [
        ["seen", "attest", "refused"],
        ["killed", "run", "killed"],
        ["old-graded", "run", "instances_failed"],
    ]
    assert lines[1][5:] == ["1/4", "1", "0", "0.50", "-"]
    assert lines[2][5:] == ["3/4", "1", "0", ">=12.50", "2/1/1=0.0150"]
    assert {len(line) for line in [head, *lines]} == {10}


def test_other_benchmarks_campaigns_and_graders_are_listed_and_what_is_no_record_is_not(runs_root: Path) -> None:
    made_by = {
        "gaia/one": "exec",
        "campaign/night": "campaign resume",
        "grade/g": "grade swe-bench-pro",
        "own/x": "odd",
    }
    for age, (place, command) in enumerate(made_by.items()):
        root = runs_root / place
        root.mkdir(parents=True)
        document = {"command": command, "created_at_unix": time.time() - age, "extra": {"outcome": "completed"}}
        write_json(root / "run_manifest.json", document)
    (runs_root / "cache" / "of-something").mkdir(parents=True)
    lines = [line.split()[:3] for line in show(runs_root).stdout.splitlines()[1:]]
    assert lines[:4] == [
        ["one", "exec", "completed"],
        ["night", "campaign", "completed"],
        ["g", "grade", "completed"],
        ["x", "other", "completed"],
    ]
    assert len(lines) == 7


def test_what_is_listed_is_found_by_its_id_unless_several_records_have_it(tmp_path: Path) -> None:
    for place in ("gaia/one", "gaia/both", "own/both"):
        (tmp_path / place).mkdir(parents=True)
        write_json(tmp_path / place / "run_manifest.json", {"command": "exec", "extra": {"outcome": "completed"}})
    assert named_record("one", tmp_path) == tmp_path / "gaia" / "one"
    with pytest.raises(UsageError, match="several records"):
        named_record("both", tmp_path)
    with pytest.raises(PreflightRefused, match="there is no run 'none'"):
        named_record("none", tmp_path)


def test_a_name_that_only_a_refused_eval_or_gate_knows_is_no_run(runs_root: Path) -> None:
    tasks = runs_root / "tasks.txt"
    tasks.touch()
    gate = ("programbench", "gate", "--run", "nosuch", "--tasks", tasks, "--reference", "other")
    for name, command in (("nosuch", gate), ("nosuch2", ("eval", "nosuch2")), ("nosuch", ("eval", "nosuch"))):
        refused = obo(*command, "--runs-root", runs_root, "--json")
        assert (refused.status, refused.envelope["refusal"]["reason"]) == (5, "run_not_found")
        assert refused.manifest["extra"]["outcome"] == "refused"
        left = runs_root / "programbench" / name
        assert left.is_dir()
        assert holds_only_refusals(left)
    assert [line.split()[0] for line in show(runs_root).stdout.splitlines()[1:]] == ["seen", "killed", "old-graded"]
    assert known_run_ids(runs_root) == ["killed", "old-graded"]
    assert named_record(None, runs_root).name == "killed"
    for name in ("nosuch", "nosuch2"):
        with pytest.raises(PreflightRefused, match=f"there is no run '{name}'") as caught:
            named_record(name, runs_root)
        assert not {"nosuch", "nosuch2"} & set(caught.value.evidence["near"])
    write_json(runs_root / "programbench" / "nosuch" / "run_manifest.json", {"created_at_unix": time.time()})
    assert named_record(None, runs_root).name == "nosuch"


def test_the_document_holds_the_same_and_is_of_its_format(runs_root: Path) -> None:
    found = show(runs_root, "--json", "--limit", "2").envelope["result"]
    assert parse_document(RunList, json.dumps(found).encode()).document() == found
    assert (found["total"], [run["run_id"] for run in found["runs"]]) == (3, ["seen", "killed"])
    assert "the newest 2 of 3" in show(runs_root, "--limit", "2").stderr


def test_the_benchmark_is_shown_where_records_of_several_are_listed(runs_root: Path) -> None:
    assert "BENCHMARK" not in show(runs_root).stdout
    other = {"benchmark": "gaia", "command": "exec", "created_at_unix": time.time(), "extra": {"outcome": "started"}}
    (runs_root / "gaia" / "killed").mkdir(parents=True)
    write_json(runs_root / "gaia" / "killed" / "run_manifest.json", other)
    head, *lines = [line.split() for line in show(runs_root).stdout.splitlines()]
    assert head[:3] == ["RUN", "BENCHMARK", "KIND"]
    assert [line[:3] for line in lines if line[0] == "killed"] == [
        ["killed", "gaia", "exec"],
        ["killed", "programbench", "run"],
    ]


def test_no_path_that_is_shown_leads_up_and_down_again(runs_root: Path) -> None:
    winding = runs_root / "programbench" / ".." / ".." / runs_root.name
    found = show(winding, "--json").envelope["result"]
    assert found["runs_root"] == str(runs_root)
    assert {run["run_root"] for run in found["runs"] if run["kind"] == "run"} == {
        str(runs_root / "programbench" / name) for name in ("killed", "old-graded")
    }
    (runs_root / "link").symlink_to(runs_root / "attest")
    (runs_root / "programbench" / "seen").symlink_to(runs_root / "attest" / "seen")
    assert named_record("seen", runs_root) == runs_root / "programbench" / "seen"
    assert named_record(f"{runs_root}/link/../programbench/killed", None) == runs_root / "programbench" / "killed"
    assert f"where       {runs_root}/" in obo("programbench", "status", f"{winding}/programbench/killed").stdout
    reported = obo("programbench", "report", "killed", "--runs-root", winding)
    assert reported.stdout == f"{runs_root}/programbench/killed/report.html\n"


def test_a_run_at_work_is_told_from_a_killed_one(runs_root: Path) -> None:
    case = made(runs_root, "live", 0, "started")
    with case.held():
        assert show(runs_root).stdout.splitlines()[1].split()[:3] == ["live", "run", "at_work"]
    assert show(runs_root).stdout.splitlines()[1].split()[:3] == ["live", "run", "killed"]


def test_what_cannot_be_read_is_listed_with_its_problem(runs_root: Path) -> None:
    place = runs_root / "programbench"
    for name in ("torn", "fifo", "listed", "a name\x1b[2J with blanks"):
        (place / name).mkdir()
    (place / "torn" / "run_manifest.json").write_text('{"created_at_unix": 1e999, "extra"')
    os.mkfifo(place / "fifo" / "run_manifest.json")
    odd = {"created_at_unix": "x", "extra": [1], "harness": 3, "requested_count": "y", "argv": 7, "command": ["z"]}
    (place / "listed" / "run_manifest.json").write_text(json.dumps(odd))
    (place / "killed" / "result_index.jsonl").unlink()
    (place / "killed" / "result_index.jsonl").mkdir()
    done = show(runs_root)
    assert (done.status, len(done.stdout.splitlines())) == (0, 8)
    assert "\x1b" not in done.stdout
    problems = {run["run_id"]: run["problem"] for run in show(runs_root, "--json").envelope["result"]["runs"]}
    assert "cannot be read" in problems["torn"]
    assert problems["fifo"]
    assert problems["a name\x1b[2J with blanks"] == "there is no manifest"
    assert problems["old-graded"] == ""


def test_no_runs_are_no_error_and_an_unknown_place_is(tmp_path: Path) -> None:
    empty = show(tmp_path / "nothing")
    assert (empty.status, empty.stdout) == (0, "")
    assert "no run" in empty.stderr
    unknown = obo("runs", cwd=tmp_path, env={"OUROBOROS_BENCH_RUNS_ROOT": ""})
    assert (unknown.status, unknown.stdout) == (2, "")
    assert "--runs-root" in unknown.stderr


def test_thousands_are_listed_without_their_ledgers_being_read(tmp_path: Path) -> None:
    case = made(tmp_path / "runs", "0000", 0, extra={"completed_count": 4})
    case.row(IDS[0], "failed", "round_limit")
    for number in range(1, 1500):
        shutil.copytree(case.root, case.root.with_name(f"{number:04d}"))
    found = list_runs(tmp_path / "runs")
    assert (found.total, len(found.runs)) == (1500, 1500)
    assert {(run.completed, run.problem) for run in found.runs} == {(4, "")}


def test_a_completion_offers_the_newest_first_and_only_words(runs_root: Path) -> None:
    made(runs_root, "old-er", 900)
    (runs_root / "programbench" / "no manifest here").mkdir()
    (runs_root / "programbench" / ".hidden").mkdir()
    (runs_root / "programbench" / "a-file").touch()
    assert known_run_ids(runs_root) == ["killed", "old-graded", "old-er"]
    assert known_run_ids(runs_root, "old") == ["old-graded", "old-er"]
    assert known_run_ids(runs_root, "x") == known_run_ids(runs_root / "absent") == known_run_ids(None) == []


def test_a_completion_that_takes_too_long_ends_with_the_names(runs_root: Path) -> None:
    made(runs_root, "new", 0)
    found = newest_first(runs_root / "programbench", limit_sec=-1.0)
    assert [root.name for root in found] == ["old-graded", "new", "killed"]


def test_a_completion_loads_nothing_heavy() -> None:
    script = (
        "import sys, obo_bench.report.known_runs\n"
        "loaded = {m.split('.')[0] for m in sys.modules}\n"
        "heavy = loaded & {'pydantic', 'httpx', 'docker', 'rich', 'filelock', 'typer'}\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_resumed_run_took_what_all_its_invocations_took(tmp_path: Path) -> None:
    case = made(tmp_path / "runs", "resumed", 100, extra={"finished_at_unix": time.time() - 98.2})
    manifest = json.loads((case.root / "run_manifest.json").read_text())
    for name, before, lasted in (("one", 1000.0, 87.0), ("two", 500.0, None)):
        begun = case.created - before
        extra = {"outcome": "started"} if lasted is None else {"outcome": "failed", "finished_at_unix": begun + lasted}
        earlier = {**manifest, "invocation": name, "created_at_unix": begun, "extra": extra}
        (case.root / "manifests").mkdir(exist_ok=True)
        write_json(case.root / "manifests" / f"{name}.json", earlier)
    [found] = list_runs(case.runs_root).runs
    assert found.begun_at_unix == pytest.approx(case.created - 1000)
    assert found.worked_sec == pytest.approx(88.8, abs=0.2)
    assert found.worked_is_lower_bound
    [line] = show(case.runs_root).stdout.splitlines()[1:]
    assert time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(case.created - 1000)) in line.split()
    assert ">=1m28s" in line.split()
    status = StatusReader(case.root).read()
    assert (status.worked_sec, status.invocations, status.killed_invocations) == (found.worked_sec, 3, 1)
    assert any("took at least 1m28s in 3 invocations, 1 of them killed" in line for line in status_lines(status))
