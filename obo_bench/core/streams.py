"""The three standard streams of the process, some of which the caller may have closed."""

import os
import sys


def open_missing() -> None:
    """Open what the caller had closed (`>&-`) as the null device, before a file of ours takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # kept open


def flush() -> None:
    """Write what is buffered; a closed pipe is not an error of the run, and what is left has no reader."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:
            continue
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
