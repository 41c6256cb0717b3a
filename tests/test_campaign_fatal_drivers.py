"""Who drives several tasks stops for every reason of the one set and for none outside of it: exec, campaign, launchers.

The scheduler's own behaviour is in test_campaign_fatal.py.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench import Refusal, benchmark_run
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ledger import Row
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, ExitCode, UsageError
from obo_bench.core.reporter import SilentReporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.launch.campaign.reactions import FATAL, REACTIONS, Then, reaction_to
from obo_bench.launch.campaign.step_end import StepEnd
from obo_bench.launch.contract.child_rows import ChildRows
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.executing.exec import run_exec
from obo_bench.launch.executing.options import ExecOptions
from obo_bench.launch.presets.registry import PRESETS

ALL = sorted(REASONS)
OTHERS = ["task_not_completed", "pyexpat_abi_mismatch", "RUNTIME_SKEW", "runtime_skew ", ""]
"""What comes close, or is a launcher's own word."""
NO_WORDS = ["runtime_skew "]
"""What is not one word; the ledger file's rows are the launcher's, which cannot be asked again."""

SOME_OTHERS = ["seed_dirty", "seed_shallow", "run_locked", "launcher_contract_stale"]
"""Of each gate whose reasons are not all fatal."""


def is_fatal(reason: str) -> bool:
    return reason in CAMPAIGN_FATAL_PROVENANCE_REASONS


def script(reason: str) -> str:
    """Leave a reason, then go on: for long where somebody should end it, and else to the end at once."""
    claim = {"schema": "obo_bench.child_outcome.v1", "outcome": "refused", "refusal_reason": reason}
    wait = "sleep 60; " if is_fatal(reason) else ""
    return f"echo '{json.dumps(claim)}' > \"$OBO_BENCH_OUTCOME_FILE\"; {wait}touch archived; exit 1"


@pytest.mark.parametrize("reason", [*sorted(CAMPAIGN_FATAL_PROVENANCE_REASONS), *SOME_OTHERS, *OTHERS])
def test_exec_stops_a_launcher_for_the_fatal_reasons_and_no_other(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ExecOptions(
        benchmark="demo",
        command=("sh", "-c", script(reason)),
        repo_dir=checkout,
        run_root=tmp_path / "run",
        settings_path=tmp_path / "no" / "settings.json",
        url=None,
        quiet=True,
    )
    result = run_exec(options, SilentReporter())
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_text())["extra"]
    if is_fatal(reason):
        assert (result.outcome, manifest["exit_code"]) == ("stopped_provenance", ExitCode.STOPPED)
        assert manifest["refusal"]["reason"] == reason
        assert not (tmp_path / "archived").exists()
    else:
        assert (result.outcome, manifest["exit_code"], manifest["refusal"]) == ("child_failed", 1, None)
        assert (tmp_path / "archived").exists()


def evidence_of(session: Session, preset: str | None = None, problem: Callable[[str], None] = pytest.fail) -> Evidence:
    child = session.run_root / "child"
    child.mkdir(exist_ok=True)
    (child / "ledger.jsonl").unlink(missing_ok=True)
    rows = ChildRows(child / "ledger.jsonl", session.ledger, "demo", None, problem)
    found = PRESETS[preset] if preset else None
    return Evidence(session.ledger, rows, child / "outcome.json", found, pytest.fail)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("runs") / "run"
    with benchmark_session(AdmissionRequest("demo", "exec", root, None)) as made:
        yield made


@pytest.mark.parametrize("reason", [*ALL, *OTHERS[:-1]])
def test_exec_takes_a_row_or_a_typed_line_for_fatal_by_the_same_set(session: Session, reason: str) -> None:
    row = {"instance_id": "a", "status": "failed", "reason_code": reason}
    problems: list[str] = []
    in_its_file = evidence_of(session, problem=problems.append)
    (session.run_root / "child" / "ledger.jsonl").write_text(json.dumps(row) + "\n")
    in_its_file.look(at_end=True)
    assert len(problems) == (reason in NO_WORDS), "what is no word is told, and taken all the same"
    appended = evidence_of(session)
    session.ledger.append(Row(benchmark="demo", **row))
    appended.look(at_end=True)
    announced = evidence_of(session, "swe-bench-pro-evolving")
    announced.read_line(f"SOLVE_INFRA_SUSPECT reason={reason}")
    told = [found.fatal[0] if found.fatal else None for found in (in_its_file, appended, announced)]
    exact = reason if is_fatal(reason) else None
    assert told[:2] == [exact, exact]
    # A line ends where its word does.
    assert told[2] == (reason.strip() if is_fatal(reason.strip()) else None)


@pytest.mark.parametrize("reason", [*ALL, *OTHERS])
def test_a_campaign_stops_after_a_step_for_the_fatal_reasons_and_no_other(reason: str) -> None:
    for outcome, reaction in REACTIONS.items():
        end = StepEnd(outcome=outcome, exit_code=1, refusal={"reason": reason})
        assert reaction_to(end) is (FATAL if is_fatal(reason) else reaction)
        assert end.is_fatal is (is_fatal(reason) or outcome == "stopped_provenance")
    assert (FATAL.then, FATAL.exit_code) == (Then.STOPS, ExitCode.STOPPED)


@pytest.mark.parametrize("reason", [*ALL, *OTHERS])
def test_a_python_launcher_stops_for_the_fatal_reasons_and_no_other(tmp_path: Path, reason: str) -> None:
    def record() -> None:
        with benchmark_run("demo", run_root=tmp_path / "run") as run:
            run.record("a", "failed", reason_code=reason)
            (tmp_path / "archived").touch()

    if reason in NO_WORDS:
        with pytest.raises(UsageError, match="is not one word"):
            record()
        return
    if is_fatal(reason):
        with pytest.raises(Refusal, match=reason):
            record()
    else:
        record()
    extra = json.loads((tmp_path / "run" / "run_manifest.json").read_text())["extra"]
    assert extra["outcome"] == ("stopped_provenance" if is_fatal(reason) else "instances_failed")
    assert (tmp_path / "archived").exists() is not is_fatal(reason)


ANOTHER_SET = """
import obo_bench.core.refusals as refusals
refusals.CAMPAIGN_FATAL_PROVENANCE_REASONS = frozenset({"run_locked"})

import sys
from collections.abc import Callable
from pathlib import Path
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ending import is_campaign_fatal
from obo_bench.core.session import benchmark_session
from obo_bench.launch.campaign.reactions import FATAL, reaction_to
from obo_bench.launch.campaign.step_end import StepEnd
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.helper.recorded import Recording
from obo_bench.launch.helper.asked import Asked

def by_the_core(reason):
    refusal = refusals.Objection(reason, "x").refusal()
    refusal.settle()
    return is_campaign_fatal(refusal)

def by_exec(reason):
    evidence = Evidence.__new__(Evidence)
    evidence.fatal = None
    evidence.weigh(reason, "somebody")
    return evidence.fatal is not None

def by_a_campaign(reason):
    return reaction_to(StepEnd("refused", 1, {"reason": reason})) is FATAL

def by_a_launcher(reason):
    try:
        with Recording(Asked("demo", named_root=Path(sys.argv[1]) / reason)) as run:
            run.stop_if_fatal(reason)
    except refusals.Refusal:
        return True
    return False

for decide in (by_the_core, by_exec, by_a_campaign, by_a_launcher):
    assert [decide(reason) for reason in ("run_locked", "runtime_skew")] == [True, False], decide.__name__
"""


def test_with_another_set_in_the_core_every_driver_decides_by_that(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", ANOTHER_SET, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
