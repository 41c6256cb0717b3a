"""Bring one archive into the destination: shared where the file system can, whole and verified or not there at all.

A hard link shares its inode with the source. That is safe for a run of ours, which replaces an archive by a rename and
never writes into one; whoever edits an archive in place changes both.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from obo_bench.core.files import sha256_file, sync_directory
from obo_bench.programbench.packaging.archive import SubmissionCorrupt, verify_archive

Method = Literal["reflink", "hardlink", "copy"]

FICLONE = 0x40049409
"""The request of Linux's ioctl_ficlone(2): share the extents of another file."""
_FILE_MODE = 0o644
_CHUNK = 1 << 20


class NotTransferred(Exception):
    """An archive did not reach the destination; what was there before is as it was."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason
        """Why, as in `export_manifest.json`."""


@dataclass(frozen=True)
class Transferred:
    """An archive in the destination."""

    sha256: str
    """Hexadecimal hash, taken from the destination's own file."""
    size: int
    """Bytes."""
    method: Method
    """How it came there."""


def transfer_archive(
    source: Path, target: Path, expected_sha256: str | None, make_way: Callable[[str], object] = lambda _: None
) -> Transferred:
    """Put the archive `source` in `target`'s place, durably, after it was verified beside it.

    `expected_sha256` is the recorded hash; without one the archive must only be readable to its end. `make_way` is
    called with the verified hash just before the archive gets its name. Raises NotTransferred.
    """
    descriptor = _open_source(source)
    # One fixed name, so that the rest of a killed export is replaced; it may be a link to the source: never truncated.
    partial = target.with_name(f".{target.name}.incoming")
    try:
        method = _bring(descriptor, partial)
        found = _verified(partial, expected_sha256)
        size = partial.stat().st_size
        make_way(found)
        _publish(partial, target)
        return Transferred(found, size, method)
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def archive_sha256(path: Path, *, follow: bool = False) -> str | None:
    """Return the hash of the archive in a place; None when nothing is there, empty when it is no readable file.

    A link counts as such unless it is to be followed.
    """
    try:
        descriptor = _open_regular(path, follow=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        try:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""


def _open_source(source: Path) -> int:
    try:
        return _open_regular(source, follow=True)
    except FileNotFoundError as error:
        raise NotTransferred("archive_missing", f"{source} is not there any more") from error
    except OSError as error:
        raise NotTransferred("archive_unreadable", f"{source} cannot be read: {error.strerror or error}") from error


def _open_regular(path: Path, *, follow: bool) -> int:
    """Open a file that something else may have put there; a FIFO is not waited for."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file")


def _bring(descriptor: int, partial: Path) -> Method:
    try:
        partial.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            _reflink(descriptor, partial)
            return "reflink"
        partial.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            # By descriptor: the very file that was opened, whatever its name stands for by now. Python follows the
            # link of /proc only where a directory is given, too, which an absolute path makes no use of.
            os.link(f"/proc/self/fd/{descriptor}", partial, src_dir_fd=descriptor)
            os.fsync(descriptor)
            return "hardlink"
        _copy(descriptor, partial)
    except OSError as error:
        raise _unwritable(partial, error) from error
    return "copy"


def _reflink(descriptor: int, partial: Path) -> None:
    with _created(partial) as sink:
        fcntl.ioctl(sink.fileno(), FICLONE, descriptor)
        os.fsync(sink.fileno())


def _copy(descriptor: int, partial: Path) -> None:
    """Copy by reading from the start; only the source's own troubles are the source's."""
    position = 0
    with _created(partial) as sink:
        while chunk := _read(descriptor, position):
            sink.write(chunk)
            position += len(chunk)
        sink.flush()
        os.fsync(sink.fileno())


def _created(partial: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(partial, flags, _FILE_MODE), "wb")


def _read(descriptor: int, position: int) -> bytes:
    try:
        return os.pread(descriptor, _CHUNK, position)
    except OSError as error:
        raise NotTransferred("archive_unreadable", f"the archive cannot be read: {error.strerror or error}") from error


def _verified(partial: Path, expected_sha256: str | None) -> str:
    """Return the hash of what is in the destination now, which is the recorded one of an archive that is whole."""
    try:
        found = sha256_file(partial)
    except OSError as error:
        raise NotTransferred("archive_unreadable", f"it cannot be read: {error.strerror or error}") from error
    if expected_sha256 is not None and found != expected_sha256:
        raise NotTransferred("hash_differs", f"its sha256 is {found}, but {expected_sha256} was recorded")
    try:
        verify_archive(partial, found)
    except SubmissionCorrupt as error:
        raise NotTransferred("archive_unreadable", f"it is no whole gzip file: {error.__cause__ or error}") from error
    return found


def _publish(partial: Path, target: Path) -> None:
    try:
        partial.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(path: Path, error: OSError) -> NotTransferred:
    return NotTransferred("destination_unwritable", f"{path} cannot be written: {error.strerror or error}")
