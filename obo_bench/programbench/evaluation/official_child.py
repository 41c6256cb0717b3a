"""The process in which the official command line runs: `python -P official_child.py eval RUN_ROOT ...`.

Started by path and without our package on its search path. It ends its own process group when the process that
started it is gone, so that a killed run leaves no evaluator behind that writes results nobody watches over.
"""

import contextlib
import os
import signal
import threading

PARENT_FD_VARIABLE = "OBO_BENCH_PARENT_FD"
"""Names the inherited pipe end that reads end-of-file when the parent is gone."""


def _end_with_parent(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.read(descriptor, 1)
    os.killpg(os.getpgrp(), signal.SIGTERM)


def main() -> None:
    """Run the official command line with this process's arguments; ends with its exit status."""
    descriptor = int(os.environ.pop(PARENT_FD_VARIABLE))
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    from programbench.cli.main import app

    app(prog_name="programbench")


if __name__ == "__main__":
    main()
