"""The first thing a process of ours does: whoever interrupts it while it still loads gets a status, no traceback.

Nothing is recorded and nothing is begun then, so the process may end on the spot. An exception would not do: the import
system calls back from places where Python can only print a traceback, and goes on.
"""

import os
import signal
import sys
from types import FrameType


def run() -> None:
    """Entry point of the console script."""
    heed()
    from obo_bench.__main__ import run as run_command_line

    run_command_line()


def heed() -> None:
    """End the process at an ending signal, until the command line has its own handlers.

    A SIGINT or SIGHUP that the caller had ignored stays ignored, as a shell's background job and `nohup` ask for.
    """
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _end)


def _end(signum: int, frame: FrameType | None) -> None:
    del frame
    try:
        sys.stderr.write(f"ended by {signal.Signals(signum).name} before anything was begun\n")
        sys.stderr.flush()
    finally:
        os._exit(128 + signum)  # also when stderr is closed
