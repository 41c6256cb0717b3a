"""The benchmarks at their smallest: that they run and say what they must; never how long anything took."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.run_log import CLEARING, by_phase, moments

PLACE = Path(__file__).resolve().parents[1]
VERDICT = re.compile(r"^(budget kept|BUDGET BROKEN)$", re.MULTILINE)


def shown(name: str, *arguments: int) -> str:
    """Run a benchmark and return what it says; whether a budget is kept on a busy machine does not matter."""
    argv = [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]
    done = subprocess.run(argv, cwd=PLACE, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    assert VERDICT.search(done.stdout), done.stdout
    assert re.search(r"load \d+\.\d, \d+\.\d, \d+\.\d on \d+ processors", done.stdout)
    return done.stdout


def test_the_start_is_compared_with_a_bare_application_of_as_many_options() -> None:
    said = shown("startup", 1)
    assert int(said.split()[0]) > 200
    for word in ("--help", "--version"):
        assert re.search(
            rf"^{word} +bare typer \d+ ms, ours \d+ ms, ratio \d\.\d\d \(budget 1\.5\)$", said, re.MULTILINE
        )


@pytest.mark.docker
def test_our_own_time_is_told_phase_by_phase_beside_docker_alone() -> None:
    said = shown("own_time", 1)
    for phase in ("image audit", "seeding", "cleanroom", "settling", CLEARING, "whole instance"):
        assert re.search(rf"^{phase} +ours +\d+\.\d+ s  docker alone +\d+\.\d+ s +\d+\.\d\dx", said, re.MULTILINE), (
            phase
        )
    assert "(budget 3 s)" in said
    assert re.search(r"^durations in the ledger: prepare .* queued .* solve .* package ", said, re.MULTILINE)


@pytest.mark.docker
def test_the_scheduler_is_compared_with_the_ideal_for_each_number_of_workers() -> None:
    said = shown("scheduling", 4, 1)
    for workers in (1, 2, 4, 8):
        line = rf"^  {workers} workers  ideal +\d+\.\d\d s  took +\d+\.\d\d s  ratio \d+\.\d+"
        assert re.search(rf"{line} \(budget 1\.2\)$", said, re.MULTILINE), workers
        assert re.search(rf"{line}  docker alone +\d+\.\d\d s +\d+\.\d\dx$", said, re.MULTILINE), workers


def test_the_page_of_a_report_is_compared_with_reading_alone_and_with_one_of_twice_the_size() -> None:
    said = shown("report", 4, 1)
    for count in (4, 8):
        line = rf"^{count} instances: json\.loads alone \d\.\d+ s, page \d\.\d+ s, ratio \d+\.\d \(budget 40\)$"
        assert re.search(line, said, re.MULTILINE), count
    assert re.search(r"^twice the instances: \d+\.\d\d times as long \(budget 3\)$", said, re.MULTILINE)


def test_phases_are_read_from_the_log_of_a_run(tmp_path: Path) -> None:
    told = """\
        00.000 programbench run: invocation i in /somewhere
        01.000 a: phase waiting
        01.500 a: phase submitted (task obo-1)
        01.750 a: task obo-1 is completed (ready)
        02.000 a: completed (submission_prepared)
        02.250 b: phase waiting
        03.000 b: failed (executor_lost)
        03.500 ended: completed (exit status 0)
    """
    (tmp_path / "logs").mkdir()
    lines = [f"2026-01-01T00:00:{line.strip()}".replace(" ", "Z ", 1) for line in told.splitlines() if line.strip()]
    (tmp_path / "logs" / "i.log").write_text("\n".join(lines))
    assert by_phase(moments(tmp_path)) == {
        "a": {"waiting": 0.5, "submitted": 0.5, CLEARING: 0.25},
        "b": {"waiting": 0.75, CLEARING: 0.5},
    }
