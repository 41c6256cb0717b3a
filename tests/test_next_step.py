"""The hint after a command is a command line: it parses as typed, names what was given, and is run where cheap."""

import ast
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli import next_step, variables
from obo_bench.cli.next_step import ADMISSION, ADMISSION_FLAGS, after
from obo_bench.cli.placed import PLACES, placed
from tests.conftest import Done, obo
from tests.help_pages import command_of, every_name, parsed
from tests.status_case import RecordedCase

ROOT = "/runs of mine/programbench/trial one"
PRACTICE = ["practice__wordtally.0000001"]
REAL = ["abishekvashok__cmatrix.5c082c6"]
TYPED = ["attest", "--repo-dir", "/a b/ouroboros", "--require-ready", "--runs-root=/r r", "--json", "--require-stamp"]
ADMITTED = ["--repo-dir", "/a b/ouroboros", "--runs-root=/r r", "--require-stamp"]
ASKS_STAMP = ["attest", "--repo-dir", "/a b", "--require-stamp"]
RUN = ["programbench", "run", "--repo-dir", "/a b", "--slice", "3", "--dry-run"]


def manifest(command: str, status: int, *, ids: list[str] = REAL, root: str = ROOT, **more: Any) -> dict[str, Any]:
    outcome = "refused" if more.get("refusal") else "completed"
    harness = {
        "ouroboros_url": more.pop("url", "http://127.0.0.1:8765"),
        "dry_run": more.pop("dry_run", False),
        "leaderboard": more.pop("leaderboard", False),
    }
    extra = {"exit_code": status, "outcome": outcome, "eval_requested": False, **more}
    return {
        "command": command,
        "run_root": root,
        "requested_task_ids": ids,
        "argv": ["obo-bench", *RUN],
        "harness": harness,
        "extra": extra,
    }


def ended_campaign(status: int, needed_usd: float | None = None, kind: str = "") -> dict[str, Any]:
    document = manifest("campaign resume", status)
    failed = {"failed_step": {"id": "s", "kind": kind, "run_root": f"{ROOT}/gate"}} if kind else {}
    document["harness"] |= {"needed_usd": needed_usd, **failed}
    return document


def refused(command: str, reason: str, **more: Any) -> dict[str, Any]:
    return manifest(command, 5, refusal={"reason": reason}, **more)


def stopped_launcher(reason: str) -> dict[str, Any]:
    document = manifest("exec", 7, refusal={"reason": reason})
    document["extra"]["outcome"] = "stopped_provenance"
    return document


@pytest.mark.parametrize(
    ("document", "typed", "expected"),
    [
        (manifest("programbench run", 0), RUN, ["eval", ROOT]),
        (manifest("programbench run", 0, eval_requested=True), RUN, ["programbench", "report", ROOT]),
        (manifest("programbench run", 0, ids=PRACTICE), RUN, ["programbench", "report", ROOT]),
        (manifest("programbench run", 0, dry_run=True), RUN, [*RUN[:-1], "--run-id", "trial one"]),
        (manifest("programbench run", 1), RUN, ["programbench", "status", ROOT]),
        (manifest("programbench run", 6, eval_requested=True), RUN, ["eval", ROOT]),
        (manifest("programbench run", 8), RUN, ["programbench", "status", ROOT]),
        (manifest("programbench run", 130), RUN, [*RUN, "--run-id", "trial one"]),
        (manifest("programbench run", 130, still_running=[{}]), RUN, []),
        (manifest("programbench run", 70, outcome="crashed"), RUN, []),
        (refused("programbench run", "runtime_unreachable"), RUN, ["doctor", "--repo-dir", "/a b"]),
        (refused("programbench run", "run_locked"), RUN, []),
        (
            manifest("attest", 0),
            TYPED,
            [
                *("programbench", "run", "--repo-dir", "/a b/ouroboros", "--runs-root=/r r", "--require-stamp"),
                *("--slice", "3", "--dry-run"),
            ],
        ),
        (refused("exec", "stamp_absent"), RUN, ASKS_STAMP),
        (refused("programbench run", "stamp_absent"), [*RUN, "--require-stamp"], ASKS_STAMP),
        (refused("attest", "stamp_absent"), TYPED, []),
        (
            refused("exec", "seed_is_not_a_git_directory"),
            RUN,
            ["attest", "--repo-dir", "/a b", "--require-git-directory"],
        ),
        (
            refused("attest", "seed_dirty"),
            TYPED,
            ["doctor", "--repo-dir", "/a b/ouroboros", "--runs-root=/r r", "--require-stamp"],
        ),
        (manifest("programbench prepare", 0, root=f"{ROOT}/{REAL[0]}"), [], ["eval", ROOT, "--instance-id", REAL[0]]),
        (manifest("programbench prepare", 1, root=f"{ROOT}/x"), [], ["programbench", "status", f"{ROOT}/x"]),
        (
            manifest("programbench prepare", 0, root=f"{ROOT}/x", eval_requested=True),
            [],
            ["export", "--source", ROOT, "--dest", f"{ROOT}-export"],
        ),
        (manifest("programbench export", 0), [], ["eval", ROOT]),
        (manifest("programbench export", 0, ids=PRACTICE), [], ["programbench", "status", ROOT]),
        (manifest("programbench export", 1), [], ["programbench", "status", ROOT]),
        (manifest("programbench export", 0, leaderboard=True), [], []),
        (manifest("programbench gate", 1), [], ["programbench", "report", ROOT]),
        (manifest("programbench gate", 6), [], ["programbench", "status", ROOT]),
        (manifest("exec", 0), [], ["programbench", "status", ROOT]),
        (manifest("exec", 143, outcome="interrupted"), [], ["programbench", "status", ROOT]),
        (stopped_launcher("runtime_skew"), ["exec", "--repo-dir", "/a b"], ["programbench", "status", ROOT]),
        (refused("exec", "runtime_skew"), ["exec", "--repo-dir", "/a b"], ["doctor", "--repo-dir", "/a b"]),
        (refused("exec", "seed_dirty", url=None), ["exec", "--repo-dir", "/a b", "--no-server"], []),
        (refused("exec", "stamp_absent", url=None), ["exec", "--no-server", "--require-stamp"], []),
        (refused("exec", "launcher_not_startable"), ["exec", "--repo-dir", "/a b"], []),
        (manifest("campaign run", 0), [], []),
        (manifest("campaign run", 0, dry_run=True), ["campaign", "run", "f", "--dry-run"], ["campaign", "run", "f"]),
        (manifest("campaign run", 8), TYPED, []),
        (
            ended_campaign(8, needed_usd=12.5),
            TYPED,
            ["campaign", "resume", ROOT, "--max-cost-usd", "12.5", *ADMITTED],
        ),
        (ended_campaign(1, kind="run"), [], ["programbench", "status", f"{ROOT}/gate"]),
        (ended_campaign(1, kind="gate"), [], ["programbench", "report", ROOT]),
        (ended_campaign(4, kind="attest"), TYPED, []),
        (manifest("campaign run", 1), TYPED, []),
        (manifest("campaign resume", 143), TYPED, ["campaign", "resume", ROOT, *ADMITTED]),
        (
            {**manifest("grade swe-bench-pro", 6), "output_paths": {"grade_summary": "/out put/grade_summary.json"}},
            [],
            ["grade", "verify", "/out put/grade_summary.json", "--grader-manifest", f"{ROOT}/run_manifest.json"],
        ),
    ],
)
def test_each_ending_of_a_recorded_command_leads_on(
    document: dict[str, Any], typed: list[str], expected: list[str]
) -> None:
    words = after(document, typed)
    assert words == (["obo-bench", *expected] if expected else [])
    if words and "trial one" not in words:  # an id has no blank, a directory may
        assert parsed(shlex.join(words)) in {expected[0], " ".join(expected[:2])}


def test_a_go_leads_to_the_campaign_as_the_trial_was_made(tmp_path: Path) -> None:
    root = tmp_path / "bench_runs" / "programbench" / "trial"
    root.mkdir(parents=True)
    trial = manifest("programbench run", 0, root=str(root))
    trial["argv"] = ["obo-bench", *RUN, "--ids-file=tasks.txt", "--workers", "4", "--run-id", "trial"]
    (root / "run_manifest.json").write_text(json.dumps(trial))
    words = after(manifest("programbench gate", 0, root=str(root)), [])
    assert words == [
        *("obo-bench", "programbench", "run", "--repo-dir", "/a b", "--workers", "4"),
        *("--runs-root", str(tmp_path / "bench_runs"), "--eval", "--run-id", "trial-all"),
    ]
    assert parsed(shlex.join(words)) == "programbench run"


@pytest.mark.parametrize("command", ["doctor", "attest", "programbench run"])
def test_what_is_asked_of_one_is_known_to_the_next(command: str) -> None:
    assert {*ADMISSION, *ADMISSION_FLAGS} <= {flag for flag, _ in variables.options(command_of(command))}


def test_what_a_campaign_leaves_out_are_options_of_a_run() -> None:
    known = {flag for flag, _ in variables.options(command_of("programbench run"))}
    assert set(next_step.SELECTION) <= known
    assert {flag.replace("--no-", "--") for flag in next_step.SELECTION_FLAGS} <= known


def test_every_option_that_names_a_place_is_known_as_one() -> None:
    found = {
        parameter.opts[0]
        for name in every_name()
        if name
        for parameter in command_of(name).params
        if "<path" in (getattr(parameter, "metavar", None) or "")
    }
    # An artifact belongs to the workspace, a row may come from standard input, and no hint has it.
    assert found - {"--protected-path", "--json-row"} == PLACES


def test_a_hint_names_every_place_from_the_root_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = [
        "obo-bench",
        "doctor",
        "--repo-dir",
        "./nothing",
        "--settings-path=nope.json",
        "--expect",
        "x",
        "--",
        "--run",
        "y",
    ]
    assert placed(line) == [
        *("obo-bench", "doctor", "--repo-dir", f"{tmp_path}/nothing", f"--settings-path={tmp_path}/nope.json"),
        *("--expect", "x", "--", "--run", "y"),
    ]
    found = obo("doctor", "--repo-dir", "./nothing", "--settings-path", "nope.json")
    assert shlex.split(hint(found))[2:] == [
        "--repo-dir",
        f"{tmp_path}/nothing",
        "--settings-path",
        f"{tmp_path}/nope.json",
    ]
    rehearsed = manifest("campaign run", 0, dry_run=True)
    rehearsed["harness"]["file"] = f"{tmp_path}/f.toml"
    assert after(rehearsed, ["campaign", "run", "f.toml", "--dry-run"])[3:] == [f"{tmp_path}/f.toml"]


def hint(done: Done) -> str:
    """Return the command line of the last hint."""
    told = [line for line in done.stderr.splitlines() if line.startswith("next: ")]
    assert told, done.stderr
    assert "next: " not in done.stdout
    line = told[-1].removeprefix("next: ")
    assert parsed(line), "not a command alone"
    return line


def typed(line: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command line as a shell does."""
    function = f'obo-bench() {{ {shlex.quote(sys.executable)} -m obo_bench "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", function], cwd=cwd, capture_output=True, timeout=240, check=False)


def test_hints_of_settings_work_as_they_are_typed(tmp_path: Path) -> None:
    file = tmp_path / "a b" / "settings.json"
    file.parent.mkdir()
    shown = obo("programbench", "settings", "--into", file)
    assert typed(hint(shown), tmp_path).returncode == 0
    assert file.is_file()
    again = obo("programbench", "settings", "--into", file)
    assert parsed(hint(again)) == "doctor"
    assert "next: " not in obo("programbench", "settings", "--into", file, "-q").stderr


def test_the_hint_of_gate_tasks_parses_and_is_not_in_the_answer() -> None:
    done = obo("programbench", "gate-tasks", "--seed", "7", "--json")
    assert parsed(hint(done)) == "programbench run"


def test_nothing_but_a_command_line_is_ever_called_next() -> None:
    """Only these two places begin a line so, and both end it with a joined command line."""
    package = Path(next_step.__file__).parents[1]
    literals = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("next: ")
    }
    assert literals == {"cli/next_step.py", "cli/status_text.py"}


def test_what_has_to_be_done_before_is_on_a_line_of_its_own(tmp_path: Path) -> None:
    file, root = tmp_path / "settings.json", RecordedCase(tmp_path / "runs").root
    hints = {
        "restart the server": obo("programbench", "settings", "--into", file, "--write"),
        "do what is told above": obo("doctor", "--repo-dir", tmp_path / "none", "--runs-root", tmp_path),
        "open the page in a browser": obo("programbench", "report", root),
        f"keep the list in {Path.cwd()}/tasks.txt": obo("programbench", "gate-tasks", "--seed", "7"),
    }
    for first, done in hints.items():
        lines = done.stderr.splitlines()
        assert lines[-2] == f"first: {first}"
        assert lines[-1] == f"next: {hint(done)}"


def test_a_list_that_goes_to_a_file_is_named_by_it(tmp_path: Path) -> None:
    program = f"{shlex.quote(sys.executable)} -m obo_bench"
    done = typed(f"{program} programbench gate-tasks --seed 7 > 'a list'", tmp_path)
    line = hint(Done(0, "", done.stderr.decode()))
    assert shlex.split(line)[4] == str(tmp_path / "a list")
    assert "first: " not in done.stderr.decode()


def test_attest_and_doctor_lead_to_each_other(checkout: Path, serve: Callable[..., str], tmp_path: Path) -> None:
    asked = ["--repo-dir", str(checkout), "--ouroboros-url", serve(), "--runs-root", str(tmp_path / "runs")]
    admitted = obo("attest", *asked, "--json")
    assert admitted.status == 0
    line = hint(admitted)
    assert parsed(line) == "programbench run"
    assert all(word in shlex.split(line) for word in asked)
    skewed = obo("attest", *asked, "--expected-version", "9.9.9")
    assert skewed.status == 3
    line = hint(skewed)
    assert parsed(line) == "doctor"
    found = typed(line, tmp_path)
    assert found.returncode == 5, "the server is still another version"
    assert parsed(hint(Done(5, found.stdout.decode(), found.stderr.decode()))) == "doctor"
    assert "next: " not in obo("attest", *asked, "--expected-version", "9.9.9", "-q").stderr
