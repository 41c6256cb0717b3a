"""Identify the contents of changed files, without waiting on a FIFO, following a link or holding a file in memory."""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path


def fingerprint(directory: Path, paths: Iterable[bytes]) -> str:
    """Return one hash for the present contents of `paths` below `directory`.

    It is the sha256 over sorted `path mode sha256` lines. A link's sha256 is that of its target's name; what is neither
    file nor link is `not-a-file`, or `absent`.
    """
    lines = sorted(_line(directory, path) for path in paths)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def _line(directory: Path, path: bytes) -> bytes:
    try:
        mode, digest = _identify(directory, os.fsdecode(path))
    except OSError:
        mode, digest = 0, "absent"
    return path + f" {mode:o} {digest}\n".encode()


def _identify(directory: Path, path: str) -> tuple[int, str]:
    file = directory / path
    if file.parent.resolve() != directory.resolve() / Path(path).parent:
        raise FileNotFoundError("the way there leads through a symbolic link")
    mode = file.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, hashlib.sha256(os.fsencode(file.readlink())).hexdigest()
    return (mode, _digest(file)) if stat.S_ISREG(mode) else (mode, "not-a-file")


def _digest(file: Path) -> str:
    # It may have been replaced since it was looked at.
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "not-a-file"
        return hashlib.file_digest(stream, "sha256").hexdigest()
