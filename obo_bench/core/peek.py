"""Read the first bytes of a small file that somebody else may have replaced by a FIFO, a device or a huge file."""

from pathlib import Path

from obo_bench.core.files import open_regular


def peek(path: Path, limit: int) -> bytes:
    """Return at most `limit` first bytes of a regular file; never waits.

    Raises OSError when it cannot be read or is not a regular file (a symbolic link to one is).
    """
    with open_regular(path) as stream:
        return stream.read(limit)


def shown(path: bytes) -> str:
    """Return a path as text for a record or a message: bytes that are not UTF-8 are written as `\\xff`."""
    return path.decode("utf-8", "backslashreplace")
