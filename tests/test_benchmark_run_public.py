"""What a launcher of another project sees: imports that need little, types that are exact, a summary for each word."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import obo_bench
from obo_bench.launch.helper.conclusion import EXIT_CODES
from obo_bench.launch.helper.run import BenchmarkRun
from tests.launcher_case import wrapping
from tests.test_benchmark_run_docs import example

BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"docker", "httpx", "typer", "rich", "jinja2", "programbench", "click", "requests"}:
            raise ModuleNotFoundError(f"{name} is blocked")
sys.meta_path.insert(0, Blocker())
"""
CALLER = """
from pathlib import Path
from obo_bench import BenchmarkRun, Refusal, SeedDemands, UsageError, benchmark_run, run_main, write_json


def solve(run: BenchmarkRun, name: str) -> None:
    run.record(name, "failed", reason_code="wrong", cost_usd=0.5, output_paths={"log": Path("x")})
    run.stop_if_fatal("wrong")


def main() -> int:
    try:
        with benchmark_run("gaia", requested_task_ids=["a"], run_root="/tmp/x", seed=SeedDemands()) as run:
            reveal_type(run)
            reveal_type(run.manifest)
            reveal_type(run.output_paths)
            solve(run, "a")
            write_json(run.run_root / "x.json", {})
            run.conclude("instances_failed", "one is wrong")
    except Refusal as refusal:
        reveal_type(refusal.reason)
        return refusal.exit_code
    except UsageError:
        return 2
    return 0


run_main(main)
"""


def run_blocked(how: str, *, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-c", BLOCKED + how]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=env)


def test_importing_needs_no_docker_httpx_typer_or_rich() -> None:
    done = run_blocked(
        "from obo_bench import BenchmarkRun, Refusal, SeedDemands, UsageError, benchmark_run, run_main\n"
        "import obo_bench.launch.helper.recorded, obo_bench.launch.helper.wrapped\n"
        "try: import httpx\nexcept ModuleNotFoundError: print('blocked')\n"
    )
    assert (done.returncode, done.stdout) == (0, "blocked\n"), done.stderr


def test_a_launcher_needs_none_of_them_in_either_situation(tmp_path: Path) -> None:
    how = (
        "from obo_bench import benchmark_run\n"
        "import sys\n"
        f"with benchmark_run('gaia', run_root={str(tmp_path / 'own')!r}) as run:\n"
        "  run.record('a'); run.write_json(str(run.run_root) + '-x.json', {}); print(run.manifest['benchmark'])\n"
    )
    done = run_blocked(how)
    assert (done.returncode, done.stdout) == (0, "gaia\n"), done.stderr
    with wrapping(tmp_path / "run") as world:
        done = run_blocked(how, env=world.variables)
        assert (done.returncode, done.stdout) == (0, "gaia\n"), done.stderr
        assert json.loads((tmp_path / "run" / "child" / "outcome.json").read_text())["outcome"] == "completed"


def test_a_callers_types_are_exact(tmp_path: Path) -> None:
    caller = tmp_path / "launcher.py"
    caller.write_text(CALLER)
    (tmp_path / "predict.py").write_text(example())
    root = Path(obo_bench.__file__).parent.parent
    argv = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    argv += ["--follow-imports=silent", str(caller), str(tmp_path / "predict.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False, cwd=root)
    revealed = [line.partition("Revealed type is ")[2] for line in done.stdout.splitlines() if "note: Revealed" in line]
    assert done.returncode == 0, done.stdout
    assert revealed == [
        '"obo_bench.launch.helper.run.BenchmarkRun"',
        '"typing.Mapping[str, Any]"',
        '"typing.Mapping[str, pathlib.Path]"',
        '"str"',
    ], revealed


@pytest.mark.parametrize("name", sorted(obo_bench._PUBLIC))
def test_every_public_name_is_known_to_type_checkers(name: str) -> None:
    source = inspect.getsource(obo_bench)
    assert f"from {obo_bench._PUBLIC[name]} import {name} as {name}\n" in source


def test_every_public_member_says_what_it_means() -> None:
    members = {name: member for name, member in vars(BenchmarkRun).items() if not name.startswith("_")}
    assert set(members) == {
        "conclude",
        "manifest",
        "output_paths",
        "record",
        "request",
        "run_root",
        "stop_if_fatal",
        "write_json",
    }
    assert all(inspect.getdoc(member) for member in members.values())
    assert inspect.getdoc(obo_bench.benchmark_run)
    assert inspect.getdoc(obo_bench.run_main)


def test_the_docs_name_every_outcome_with_its_status() -> None:
    page = (Path(obo_bench.__file__).parent.parent / "docs" / "python-launchers.md").read_text("utf-8")
    for outcome, status in EXIT_CODES.items():
        assert f"| `{outcome}` | {int(status)} |" in page
