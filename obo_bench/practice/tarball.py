"""Builds small tar archives in memory: same files, same bytes; everything belongs to root."""

import gzip
import io
import tarfile
from collections.abc import Mapping


def tar_bytes(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Return an uncompressed archive of `files` (relative path -> content and mode), sorted by path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (content, mode) in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def tar_gz_bytes(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Return a gzip-compressed archive of `files`; no time of day is stored in it."""
    return gzip.compress(tar_bytes(files), mtime=0)
