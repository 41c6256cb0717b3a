"""What is attacked, and from where."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ELF = b"\x7fELF"
PROGRAM = Path(sys.argv[1])
PLACE = Path(tempfile.mkdtemp())
COPY = PLACE / "copy"

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    """Raise OSError for a call of libc that failed."""
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def is_read(path: Path) -> bool:
    return path.read_bytes().startswith(ELF)


def in_child(act: Callable[[], bool]) -> bool:
    """What changes the process must not change the tries that come after it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
