"""The process in which the official command line runs.

    python -P official_child.py eval RUN ...                        in this interpreter, which has the package
    python -P official_child.py --command WORD... eval RUN ...      as a command of its own

Started by path and without our package on its search path: only the standard library and `programbench` are used. It
ends its own process group when the process that started it is gone, so that a killed run leaves no evaluator behind
that writes results nobody watches over.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

PARENT_FD_VARIABLE = "OBO_BENCH_PARENT_FD"
"""Names the inherited pipe end that reads end-of-file when the parent is gone."""
_COMMAND_FLAG = "--command"


def _end_with_parent(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.read(descriptor, 1)
    os.killpg(os.getpgrp(), signal.SIGTERM)


def _run_command(words: list[str]) -> int:
    """Run a command in this process group and return its status; one that a signal ended ends this process alike."""
    status = subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def main() -> None:
    """Run the official command line with this process's arguments; ends with its exit status."""
    descriptor = int(os.environ.pop(PARENT_FD_VARIABLE))
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    if sys.argv[1:2] == [_COMMAND_FLAG]:
        raise SystemExit(_run_command(sys.argv[2:]))
    from programbench.cli.main import app

    app(prog_name="programbench")


if __name__ == "__main__":
    main()
