"""Read and replace files in a directory in which somebody else may change names for links at any moment.

A directory is held by descriptor once it is opened, and no name in it is followed: what is replaced gets a new file of
its name, so that a link is replaced itself.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def held_directory(path: Path | str, above: int | None = None) -> Iterator[int]:
    """Yield the descriptor of a directory, a name in the directory `above`; raises OSError, also for a link."""
    descriptor = os.open(path, _OPENED | os.O_DIRECTORY, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_file(directory: int, name: str, most: int) -> bytes:
    """Return the bytes of a regular file.

    Raises FileNotFoundError, and OSError for a link, for what is no regular file, and for one of more than `most`
    bytes.
    """
    descriptor = os.open(name, _OPENED, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{name!r} is not a regular file")
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(f"{name!r} has more than {most} bytes")
    return data


def replace_file(directory: int, name: str, data: bytes) -> None:
    """Put a new file in the place of what has the name, which keeps its mode where it was a file; raises OSError."""
    partial = f"{name}.{secrets.token_hex(4)}"
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory)
        with os.fdopen(descriptor, "wb") as stream:
            with suppress(FileNotFoundError):
                before = os.stat(name, dir_fd=directory, follow_symlinks=False)
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode) if stat.S_ISREG(before.st_mode) else 0o644)
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        os.replace(partial, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial, dir_fd=directory)
        raise
