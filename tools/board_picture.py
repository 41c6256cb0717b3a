"""Makes the picture of the live board from a practice run: `python -m tools.board_picture DIRECTORY FILE.svg`.

The run is real, with the stand-in server; the picture is the moment at which most was going on.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from obo_bench.core.reporter import SilentReporter
from obo_bench.core.run_state import RunState, Snapshot
from obo_bench.practice.images import ensure_images
from obo_bench.practice.main_job import practice_environment
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.standin import StandIn, StandInConfig
from obo_bench.practice.tasks import PRACTICE_TASKS
from obo_bench.programbench.options import RunOptions
from obo_bench.report.board.export import board_svg

_LOOK_SEC = 0.2
_SOLVE_SEC = 6.0
_WIDTH, _HEIGHT = 110, 18
_INSIDE = "TOOLS_BOARD_PICTURE_INSIDE"
"""Set in the child, whose environment knows the practice tasks."""


def main(directory: Path, target: Path) -> None:
    """Make the practice run and write the picture."""
    if _INSIDE not in os.environ:
        environment = practice_environment(directory) | {_INSIDE: "1"}
        argv = [sys.executable, "-m", "tools.board_picture", str(directory), str(target)]
        subprocess.run(argv, env=environment, check=True)
        return
    ensure_images(PRACTICE_TASKS, SilentReporter())
    target.write_text(board_svg(_busiest_moment(directory), _WIDTH, _HEIGHT), "utf-8")
    sys.stdout.write(f"{target}\n")


def _busiest_moment(directory: Path) -> Snapshot:
    """Return how the run stood when most instances were at work and one had ended."""
    from obo_bench.programbench.run import run_programbench

    checkout = make_seed_checkout(directory / "ouroboros")
    server = StandIn(
        StandInConfig(repo_dir=checkout, data_dir=directory / "data", workers=2, solve_delay_sec=_SOLVE_SEC)
    )
    state, moments, over = RunState(), list[Snapshot](), threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SEC):
            moments.append(state.snapshot())

    options = RunOptions(
        repo_dir=checkout,
        run_root=directory / "bench_runs" / "programbench" / "practice",
        settings_path=directory / "data" / "settings.json",
        url=server.start(),
        workers=2,
        cpus=1,
        memory="1g",
        timeout_sec=600,
        max_cost_usd=5.0,
    )
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        run_programbench(options, state)
    finally:
        over.set()
        watcher.join()
        server.stop()
    return max(moments, key=lambda moment: (len(moment.active) + bool(moment.ended), moment.elapsed_sec))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
