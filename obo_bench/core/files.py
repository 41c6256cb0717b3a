"""Durable file writes: a document is either wholly there or not there at all, and survives a power loss.

What is written is for the operator alone, within the umask. A link in a document's place is replaced, never followed.
A writer killed in the middle leaves `.<name>.<random>.tmp` behind, which no reader of a document looks at.
Standard library only, so that any launcher can use it.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

PRIVATE_FILE = 0o600
"""Mode of what may hold foreign text, such as the records of tasks."""
PRIVATE_DIRECTORY = 0o700
LARGEST_DOCUMENT = 256 * 1024 * 1024
"""Bytes of the largest document that is read: the largest of ours, with every test of the benchmark, has an eighth."""
_NAME_KEPT = 60


def json_bytes(payload: Any) -> bytes:
    """Return the project's document form: indented UTF-8 JSON with a final newline.

    Text that is not valid Unicode (names decoded with `surrogateescape`) is escaped instead of failing.
    """
    text = json.dumps(payload, ensure_ascii=False, indent=2) + "\n"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(payload, ensure_ascii=True, indent=2) + "\n").encode("ascii")


def line_bytes(payload: Any) -> bytes:
    """Return one ledger line: compact JSON, UTF-8, ended by a newline."""
    text = json.dumps(payload, ensure_ascii=False) + "\n"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(payload, ensure_ascii=True) + "\n").encode("ascii")


def write_json(path: str | os.PathLike[str], payload: Any) -> None:
    """Replace `path` atomically and durably by `payload` as JSON; raises OSError and leaves the old file on failure."""
    write_bytes(path, json_bytes(payload))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace `path` atomically and durably by UTF-8 text."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str | os.PathLike[str], data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace `path` atomically and durably: temporary sibling, fsync, rename, fsync of the directory.

    Raises OSError, and then the old file is as it was, with nothing left beside it; only where the last step fails
    (making the rename durable) the new one is there.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_directory(target.parent)


def make_private_directory(path: Path) -> None:
    """Make a directory that only the operator can enter, parents as usual; one that is there stays as it is.

    So an operator whose server runs as another user can open a run root beforehand. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def sync_directory(path: Path) -> None:
    """Make a rename or a new entry in `path` survive a power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes, read in constant memory.

    Raises OSError, also for what is no regular file: a FIFO in its place is not waited for.
    """
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the JSON object in `path`, or None when the file is absent, unreadable or holds something else."""
    try:
        value = json.loads(read_whole(path))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file of at most LARGEST_DOCUMENT; never waits.

    Raises OSError, also for a larger one.
    """
    with open_regular(path) as stream:
        data = stream.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        raise OSError(f"{os.fspath(path)!r} is larger than {LARGEST_DOCUMENT} bytes")
    return data


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file, or the one that a link leads to, for reading; never waits. Raises OSError."""
    # Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fspath(path)!r} is not a regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
