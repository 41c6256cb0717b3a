"""`exec` around a launcher: its environment, resumes, deaths, contradictions, and the document that describes it."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.launch.executing.command_secrets import command_secrets
from obo_bench.launch.executing.preset_defaults import PRESET_DEFAULTS, PresetDefaults
from obo_bench.launch.presets.registry import PRESETS
from tests.conftest import Serve, obo
from tests.exec_table import FATAL
from tests.exec_world import ExecWorld, alive, launcher, shell

DOCUMENT = Path(__file__).parents[1] / "docs" / "launchers.md"
IDS = ("--task-id", "t1", "--task-id", "t2")


@pytest.fixture
def world(tmp_path: Path, checkout: Path) -> ExecWorld:
    return ExecWorld(tmp_path / "elsewhere", checkout)


def test_a_launcher_is_told_where_its_run_is_and_nothing_that_was_meant_for_us(world: ExecWorld) -> None:
    given = {"OBO_BENCH_TIMEOUT_SEC": "50", "OBO_BENCH_LEDGER": "/stale", "OBO_ALLOW_EVOLVED_VOLUME": "yes"}
    found = world.run(shell("env; cat; cat $OBO_BENCH_TASK_IDS_FILE"), *IDS, env=given)
    told = dict(line.split("=", 1) for line in found.log.decode().splitlines() if line.startswith(("OBO_B", "OBO_A")))
    ours = {name: value for name, value in told.items() if not name.startswith("OBO_BENCH_TEST_")}
    child = world.run_root / "child"
    assert ours == {
        "OBO_ALLOW_EVOLVED_VOLUME": "1",
        "OBO_BENCH_INVOCATION": found.manifest["invocation"],
        "OBO_BENCH_LEDGER": str(child / "ledger.jsonl"),
        "OBO_BENCH_MANIFEST": str(world.run_root / "run_manifest.json"),
        "OBO_BENCH_OUTCOME_FILE": str(child / "outcome.json"),
        "OBO_BENCH_RUN_ROOT": str(world.run_root),
        "OBO_BENCH_TASK_IDS_FILE": str(child / "task_ids.txt"),
    }
    assert found.log.endswith(b"t1\nt2\n")
    assert found.manifest["timeout_sec"] == 50
    assert found.manifest["requested_task_ids"] == ["t1", "t2"]


def test_without_ids_the_denominator_is_unknown_and_rows_alone_are_counted(world: ExecWorld) -> None:
    found = world.run(launcher("exit", "0"))
    assert (found.manifest["requested_task_ids"], found.manifest["requested_count"]) == (None, None)
    assert found.extra["completed_count"] is None
    assert found.rows == []


def test_a_row_with_loose_words_is_told_and_no_result_is_lost(world: ExecWorld) -> None:
    row = {"instance_id": "t1", "status": "completed", "reason_code": "two words"}
    loose = {**row, "instance_id": "t2", "reason_code": "x", "submission_sha256": "zz"}
    script = "".join(f"echo '{json.dumps(each)}' >> \"$OBO_BENCH_LEDGER\"; " for each in (row, loose))
    found = world.run(shell(script + "echo '{nonsense}' >> \"$OBO_BENCH_LEDGER\""), *IDS)
    assert (found.report["rows_taken"], found.report["rows_bad"]) == (2, 1)
    assert [each.reason_code for each in found.rows] == ["two words", "x"]
    told = " ".join(found.report["problems"])
    assert "line 1 of the launcher's ledger: reason_code: 'two words' is not one word" in told
    assert "line 2 of the launcher's ledger: submission_sha256: 'zz' is no SHA-256" in told
    assert "line 3 of the launcher's ledger is no row of this run: it is no JSON: Expecting property name" in told
    assert "at column 2" in told


def test_ids_that_nothing_was_heard_of_get_no_row_where_no_rows_are_expected(world: ExecWorld) -> None:
    assert world.run(launcher("exit", "0"), *IDS).rows == []


def test_another_set_of_ids_or_data_set_on_the_same_run_is_refused_and_the_record_stays(world: ExecWorld) -> None:
    first = world.run(launcher("exit", "0"), *IDS, "--dataset", "d1")
    assert first.status == 0
    before = first.manifest
    for options in (("--task-id", "t3", "--dataset", "d1"), (*IDS, "--dataset", "d2")):
        refused = world.run(launcher("exit", "0"), *options)
        assert refused.status == 5
        assert b"resume_config_mismatch" in refused.stderr
        assert refused.manifest == before
    again = world.run(launcher("exit", "3"))
    assert again.status == 3
    assert again.manifest["requested_task_ids"] == ["t1", "t2"]
    assert [each["exit_code"] for each in again.extra["invocations"]] == [0]
    assert (world.run_root / "child" / "earlier" / "1" / "output.log").exists()


def test_a_killed_exec_takes_its_launcher_along_and_the_next_one_says_so(world: ExecWorld) -> None:
    script = "sleep 123 & echo $! > below; echo $$ > leader; touch ready; wait"
    process = world.start(shell(script), "--grace-sec", "1")
    world.until_ready()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    pids = [int((world.directory / name).read_text()) for name in ("leader", "below")]
    world.until(lambda: not any(map(alive, pids)))
    assert json.loads((world.run_root / "run_manifest.json").read_text())["extra"]["outcome"] == "started"
    after = world.run(launcher("exit", "0"))
    assert b"an earlier invocation died without an ending" in after.stderr
    assert [each["died_unrecorded"] for each in after.extra["invocations"]] == [True]


def test_a_launcher_that_kills_its_guardian_does_not_outlive_it(world: ExecWorld) -> None:
    found = world.run(shell("sleep 124 & echo $! > below; kill -9 $PPID; sleep 125"))
    assert (found.status, found.extra["outcome"], found.report["guardian_lost"]) == (137, "child_failed", True)
    world.until(lambda: not alive(int((world.directory / "below").read_text())))


def test_a_json_flag_of_the_launcher_is_not_ours_and_ours_gives_one_object(world: ExecWorld) -> None:
    assert world.run(shell("echo $0 is printed"), "--json").stdout.count("\n") == 1
    world.run_id = "s"
    found = world.run([*launcher("exit", "0"), "--json"])
    assert found.stdout == f"{world.run_root}\n"


def test_quiet_keeps_the_output_for_the_log(world: ExecWorld) -> None:
    found = world.run(shell("echo loud"), "-q")
    assert (found.stderr, found.log) == (b"", b"loud\n")


def test_a_secret_among_the_arguments_is_written_nowhere(world: ExecWorld) -> None:
    found = world.run([*shell("echo $*"), "--api-key", "xyzzy-plugh-4711"])
    assert b"[redacted]" in found.log
    for path in world.run_root.rglob("*"):
        assert not path.is_file() or b"plugh" not in path.read_bytes(), path


def test_values_behind_options_that_only_speak_of_tokens_are_no_secrets() -> None:
    line = ["run", "--max-tokens", "4096000", "--token-file", "/etc/token", "--api-key", "--verbose", "--secret", "abc"]
    assert list(command_secrets(line)) == ["abc"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--benchmark", "programbench", "--", "true"], "'programbench'"),
        (["--benchmark", "../x", "--", "true"], "'../x'"),
        (["--", "true"], "--benchmark"),
        (["--preset", "nothing", "--", "true"], "'nothing'"),
        (["--benchmark", "b", "--no-server", "--ouroboros-url", "http://127.0.0.1:1", "--", "true"], "--ouroboros-url"),
        (["--benchmark", "b", "--no-server", "--expected-version", "1", "--", "true"], "--expected-version"),
        (["--benchmark", "b", "--official-command", "a 'b", "--", "true"], "--official-command"),
        (["--benchmark", "b", "--task-id", " ", "--", "true"], "--task-id"),
        (["--benchmark", "b", "--timeout-sec", "inf", "--", "true"], "--timeout-sec"),
        (["--benchmark", "b", "--grace-sec", "nan", "--", "true"], "--grace-sec"),
        (["--benchmark", "b"], "COMMAND"),
    ],
)
def test_options_that_mean_nothing_are_usage_errors_that_name_them(
    checkout: Path, options: list[str], named: str
) -> None:
    done = obo("exec", "--repo-dir", checkout, *options)
    assert done.status == 2, done.stderr
    assert named in done.stderr


def test_the_refusals_of_the_gates_come_before_the_launcher_is_started(
    world: ExecWorld, serve: Serve, checkout: Path
) -> None:
    mark = shell("touch started")
    for options, url, status, reason in (
        (("--seed-commit", "deadbeef"), None, 4, b"lineage_unknown"),
        ((), "http://127.0.0.1:1", 3, b"runtime_unreachable"),
        ((), serve(version="6.80.0"), 3, b"runtime_skew"),
        (("--ids-file", "/nowhere"), None, 5, b"ids_file_unreadable"),
        (("--min-budget-usd", "1"), None, 5, b"budget_unreadable"),
    ):
        refused = world.run(mark, *options, url=url, env={"OPENROUTER_API_KEY": ""})
        assert (refused.status, reason in refused.stderr) == (status, True), refused.stderr
    assert not (world.directory / "started").exists()


def test_a_line_that_a_preset_knows_stops_it_before_it_archives(world: ExecWorld, checkout: Path) -> None:
    stamp = checkout / ".git" / "ouroboros_seed"
    head = (checkout / ".git" / "HEAD").read_text().strip().removeprefix("ref: ")
    stamp.write_text((checkout / ".git" / head).read_text())
    found = world.run(launcher("fatal_line", FATAL), "--preset", "swe-bench-pro-evolving")
    assert (found.status, found.extra["outcome"]) == (7, "stopped_provenance"), found.stderr
    assert found.extra["refusal"]["reason"] == FATAL
    assert found.report["announced"] == [FATAL]
    assert not (world.directory / "archived").exists()


def test_the_defaults_of_the_presets_are_those_of_the_presets_themselves() -> None:
    assert {
        name: PresetDefaults(
            preset.benchmark,
            preset.dataset,
            preset.timeout_sec,
            git_directory=preset.needs_git_directory,
            stamp=preset.needs_stamp,
        )
        for name, preset in PRESETS.items()
    } == PRESET_DEFAULTS


def example() -> Iterator[str]:
    return (block for block in re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL) if block[:2] == "#!")


def test_the_launcher_of_the_document_does_what_it_says(world: ExecWorld, tmp_path: Path) -> None:
    [script] = example()
    for name, text in (("launcher", script), ("solve", '#!/bin/sh\n[ "$1" = t1 ]\n')):
        (world.directory / name).write_text(text)
        (world.directory / name).chmod(0o755)
    command = tmp_path / "bin" / "obo-bench"
    command.parent.mkdir()

    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m obo_bench "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    found = world.run(["./launcher"], *IDS, env={"PATH": path, "PYTHONPATH": str(DOCUMENT.parents[1])})
    assert (found.status, found.extra["outcome"]) == (1, "instances_failed"), found.stderr
    assert [(row.instance_id, row.status) for row in found.rows] == [("t1", "completed"), ("t2", "failed")]
    assert (found.extra["completed_count"], found.extra["failed_count"]) == (1, 1)
    assert found.extra["cost"]["known_usd"] == 0.25
    assert found.report["problems"] == []
    world.run_id = "without"
    nothing = world.run(["./launcher"], env={"PATH": path, "PYTHONPATH": str(DOCUMENT.parents[1])})
    assert (nothing.status != 0, nothing.extra["outcome"]) == (True, "child_failed")
    assert b"name tasks with --task-id" in nothing.log
