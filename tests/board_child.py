"""A recorded body with a board, as a process: `python -m tests.board_child RUN_ROOT CHECKOUT ENDING [FLAG...]`."""

import sys
import time
from pathlib import Path

from obo_bench.cli.seen import OperatorDisplay
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange, InstanceEnded, Phase, RunChange
from obo_bench.core.session import benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.core.signals import Interrupted

FOREIGN = "[red]x[/] \x1b[2J \u202e日本語 \U0001f469\u200d\U0001f467 \udce4"
MANY = 20_000


def body(reporter: Reporter, ending: str) -> None:
    reporter.update(RunChange(run_id="r", server_version="6.75.0", model="m", stage="solving", total=3, workers=2))
    for name in ("first", "second"):
        reporter.update(InstanceChange(name, phase=Phase.RUNNING, task_id=f"obo-{name}-1"))
    reporter.event(f"foreign {FOREIGN}", "first")
    if ending == "wait":
        while True:
            time.sleep(0.05)
    if ending == "line":
        sys.stdin.readline()
    if ending == "many":
        for number in range(MANY):
            reporter.event(f"event {number}", "first")
    if ending == "crash":
        raise RuntimeError("a bug")
    reporter.update(InstanceChange("first", rounds=7, status="running"))
    reporter.update(InstanceEnded("first", "completed"))
    reporter.event("completed (submission_prepared)", "first")


def main(run_root: str, checkout: str, ending: str, *flags: str) -> int:
    display = OperatorDisplay(quiet="-q" in flags, verbose="-v" in flags)
    request = AdmissionRequest(
        benchmark="programbench", command="programbench run", run_root=Path(run_root), repo_dir=Path(checkout)
    )
    try:
        with benchmark_session(request) as session, Showing(session, display):
            session.gates_passed()
            body(display, ending)
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
