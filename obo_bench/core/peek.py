"""Read the first bytes of a small file that somebody else may have replaced by a FIFO, a device or a huge file."""

import os
import stat
from pathlib import Path


def peek(path: Path, limit: int) -> bytes:
    """Return at most `limit` first bytes of a regular file; never waits.

    Raises OSError when it cannot be read or is not a regular file (a symbolic link to one is).
    """
    # Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{str(path)!r} is not a regular file")
        return stream.read(limit)


def shown(path: bytes) -> str:
    """Return a path as text for a record or a message: bytes that are not UTF-8 are written as `\\xff`."""
    return path.decode("utf-8", "backslashreplace")
