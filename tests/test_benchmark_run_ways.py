"""Every way out of a launcher, standing alone and under `exec`: a typed ending, and `$?` is the status on record."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from obo_bench.core.lock import OWNER_NAME
from tests.launcher_case import LAUNCHER, Launched, alone, finish, start, wrapping


@dataclass(frozen=True)
class Way:
    """One way out."""

    how: str
    """What the launcher does in its run."""
    status: int
    outcome: str
    """What the manifest of a launcher that stands alone says."""
    claim: str
    """What one under `exec` leaves in its outcome file."""
    reason: str | None = None
    goes_on: bool = False
    """Whether what follows the run is reached."""


DONE = "run.record('a')"
STOP = "run.stop_if_fatal('runtime_changed', 'another server')"
REFUSAL = "from obo_bench.core.refusals import PreflightRefused as R\n"
WAYS = {
    "everything done": Way(DONE, 0, "completed", "completed", goes_on=True),
    "nothing recorded": Way("pass", 1, "instances_failed", "instances_failed", goes_on=True),
    "a failed row": Way("run.record('a', 'failed')", 1, "instances_failed", "instances_failed", goes_on=True),
    "a blocked row": Way("run.record('a', 'blocked')", 1, "instances_failed", "instances_failed", goes_on=True),
    "done already": Way("run.record('a', 'skipped')", 0, "completed", "completed", goes_on=True),
    "failed, then done": Way(
        "run.record('a', 'failed'); run.record('a', attempt=2)", 0, "completed", "completed", goes_on=True
    ),
    "a failed row and a claim of success": Way(
        "run.record('a', 'failed'); run.conclude('completed')",
        1,
        "instances_failed",
        "instances_failed",
        goes_on=True,
    ),
    "concluded as failed": Way(
        f"{DONE}; run.conclude('instances_failed')", 1, "instances_failed", "instances_failed", goes_on=True
    ),
    "concluded as failed, and the status says so": Way(
        f"{DONE}; run.conclude('instances_failed'); sys.exit(1)", 1, "instances_failed", "instances_failed"
    ),
    "concluded as failed, exit 0": Way(
        f"{DONE}; run.conclude('instances_failed'); sys.exit(0)", 1, "instances_failed", "instances_failed"
    ),
    "nothing to export": Way("run.conclude('nothing_exported')", 1, "nothing_exported", "nothing_exported", None, True),
    "evaluator broken": Way(
        "run.conclude('official_eval_error')", 6, "official_eval_error", "official_eval_error", None, True
    ),
    "stopped": Way("run.conclude('stopped_systemic')", 7, "stopped_systemic", "stopped_systemic", None, True),
    "no money": Way("run.conclude('stopped_budget')", 8, "stopped_budget", "stopped_budget", None, True),
    "a program's status": Way(
        "run.conclude('child_failed', exit_code=42)", 42, "child_failed", "child_failed", None, True
    ),
    "an unknown outcome": Way("run.conclude('fine')", 70, "crashed", "child_failed"),
    "an unknown status": Way("run.record('a', 'fine')", 70, "crashed", "child_failed"),
    "exit 0": Way(f"{DONE}; sys.exit(0)", 0, "completed", "completed"),
    "a failed row, exit 1": Way("run.record('a', 'failed'); sys.exit(1)", 1, "instances_failed", "instances_failed"),
    "exit 1": Way("sys.exit(1)", 1, "child_failed", "child_failed"),
    "exit 7": Way("sys.exit(7)", 7, "child_failed", "child_failed"),
    "exit with a text": Way("sys.exit('words')", 1, "child_failed", "child_failed"),
    "exit 256": Way("sys.exit(256)", 1, "child_failed", "child_failed"),
    "an error": Way("1 / 0", 70, "crashed", "child_failed"),
    "an error without a text": Way(
        "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})", 70, "crashed", "child_failed"
    ),
    "a refusal": Way(
        f"{REFUSAL}raise R('empty_selection', 'x')", 5, "refused", "refused", "empty_selection"
    ),
    "a swallowed refusal": Way(
        f"{REFUSAL}run.record('a')\ntry: raise R('empty_selection', 'x')\nexcept Refusal: pass",
        5, "refused", "refused", "empty_selection",
    ),
    "a fatal reason": Way(f"{DONE}; {STOP}", 7, "stopped_provenance", "refused", "runtime_changed"),
    "a fatal reason that was swallowed": Way(
        f"{DONE}\ntry: {STOP}\nexcept Exception: pass", 7, "stopped_provenance", "refused", "runtime_changed"
    ),
    "a fatal reason, then exit 1": Way(
        f"try: {STOP}\nexcept Exception: sys.exit(1)", 7, "stopped_provenance", "refused", "runtime_changed"
    ),
    "a fatal reason, then a crash": Way(f"try: {STOP}\nfinally: 1 / 0", 70, "crashed", "child_failed"),
    "a fatal row": Way(
        "run.record('a', 'failed', reason_code='lineage_broken')", 7, "stopped_provenance", "refused", "lineage_broken"
    ),
    "a fatal refusal of its own": Way(
        "from obo_bench import RuntimeAttestationRefused as R\nraise R('runtime_skew', 'x')",
        7, "stopped_provenance", "refused", "runtime_skew",
    ),
    "another reason": Way(f"{DONE}; run.stop_if_fatal('task_not_completed')", 0, "completed", "completed", None, True),
    "KeyboardInterrupt": Way("raise KeyboardInterrupt", 130, "interrupted", "child_failed"),
    "SIGTERM": Way("os.kill(os.getpid(), 15); time.sleep(9)", 143, "interrupted", "child_failed"),
    "SIGINT": Way("os.kill(os.getpid(), 2); time.sleep(9)", 130, "interrupted", "child_failed"),
    "SIGHUP": Way("os.kill(os.getpid(), 1); time.sleep(9)", 129, "interrupted", "child_failed"),
    "a swallowed signal": Way(
        f"{DONE}\ntry: os.kill(os.getpid(), 15); time.sleep(9)\nexcept BaseException: pass",
        143, "interrupted", "child_failed",
    ),
    "a second signal in clean-up": Way(
        "try: os.kill(os.getpid(), 2); time.sleep(9)\nfinally: os.kill(os.getpid(), 15); time.sleep(9)",
        143, "interrupted", "child_failed",
    ),
    "a fatal reason, then a signal": Way(
        f"try: {STOP}\nfinally: os.kill(os.getpid(), 15); time.sleep(9)", 143, "interrupted", "child_failed"
    ),
    "a fork that exits": Way(
        "pid = os.fork()\nif not pid: sys.exit(3)\nassert os.waitpid(pid, 0)[1] == 3 << 8\n"
        "assert '\"outcome\": \"started\"' in (run.run_root / 'run_manifest.json').read_text()\n"
        "assert not (run.run_root / 'child' / 'outcome.json').exists(); run.record('a')",
        0, "completed", "completed", goes_on=True,
    ),
    "closed streams": Way(f"{DONE}; os.close(1); os.close(2)", 0, "completed", "completed"),
}  # fmt: skip


def went_on(done: Launched) -> bool:
    return "went on" in done.stdout


@pytest.mark.parametrize("name", WAYS)
def test_a_launcher_that_stands_alone(tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    done = alone(tmp_path / "run", way.how, requested_task_ids=["a"])
    extra = done.extra
    assert (done.status, extra["exit_code"], extra["outcome"]) == (way.status, way.status, way.outcome), done.stderr
    assert (extra["refusal"] or {}).get("reason") == way.reason
    assert extra["finished_at_unix"] is not None
    assert went_on(done) is way.goes_on
    assert not (done.run_root / OWNER_NAME).exists()


@pytest.mark.parametrize("name", WAYS)
def test_a_launcher_under_exec(tmp_path: Path, name: str) -> None:
    way, root = WAYS[name], tmp_path / "run"
    with wrapping(root) as world:
        before = (root / "run_manifest.json").read_bytes()
        done = world.launch(way.how, requested_task_ids=["a"])
        assert (done.status, done.outcome["outcome"]) == (way.status, way.claim), done.stderr
        assert done.outcome["refusal_reason"] == way.reason
        assert went_on(done) is way.goes_on
        assert (root / "run_manifest.json").read_bytes() == before
    assert len(list(tmp_path.rglob("*manifest*.json"))) == 1


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_from_outside_ends_both_alike(tmp_path: Path, signum: int) -> None:
    how = "print('here', flush=True); time.sleep(60)"

    def ended(run_root: Path, env: dict[str, str]) -> Launched:
        process = start(how, {} if env else {"run_root": run_root}, env)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signum)
        return finish(process, run_root)

    done = ended(tmp_path / "alone", {})
    assert (done.status, done.extra["outcome"]) == (128 + signum, "interrupted")
    with wrapping(tmp_path / "wrapped") as world:
        done = ended(tmp_path / "wrapped", world.variables)
        assert (done.status, done.outcome["outcome"]) == (128 + signum, "child_failed")


@pytest.mark.parametrize("under_exec", [False, True])
def test_a_storm_of_signals_never_parts_status_and_record(tmp_path: Path, under_exec: bool) -> None:
    how = "print('here', flush=True)\nfor number in range(200): run.record(str(number))"
    with wrapping(tmp_path / "wrapped") as world:
        root = world.session.run_root if under_exec else tmp_path / "alone"
        process = start(how, {"run_root": root}, world.variables if under_exec else {})
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM) * 3:
            os.kill(process.pid, signum)
        done = finish(process, root)
        assert done.status in (129, 130, 143)
        if under_exec:
            assert done.outcome["message"].startswith("Interrupted: ended by SIG")
        else:
            assert done.extra["exit_code"] == done.status


def test_without_our_main_an_exception_is_pythons_business_and_the_record_is_the_same(tmp_path: Path) -> None:
    program = LAUNCHER.replace("run_main(main)", "main()")
    done = finish(start("1 / 0", {"run_root": tmp_path / "run"}, program=program), tmp_path / "run")
    assert (done.status, done.extra["outcome"], done.extra["exit_code"]) == (1, "crashed", 70)
