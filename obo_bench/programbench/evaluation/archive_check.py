"""Tells an archive that nobody can unpack from one that the evaluator has to judge.

The evaluator gives up on such an archive with an error that looks like one of the host. Only what GNU tar certainly
refuses is called unreadable here: a stream that is no whole gzip, or whose first record is no tar header.
"""

import gzip
import tarfile
import zlib
from pathlib import Path

_BLOCK = 1 << 20


def archive_trouble(path: Path) -> str | None:
    """Return why the archive cannot be unpacked, None when it can be read to its end.

    An empty archive is fine: the evaluator has a verdict for it. One that is not there has no trouble of this kind.
    """
    try:
        if path.stat().st_size == 0:
            return "it is an empty file"
        with gzip.open(path) as stream:
            first = stream.read(tarfile.BLOCKSIZE)
            while stream.read(_BLOCK):
                pass
        if len(first) == tarfile.BLOCKSIZE and first.strip(b"\0"):
            tarfile.TarInfo.frombuf(first, "utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error) as error:
        return f"it is not a whole gzip file: {error}"
    except tarfile.HeaderError as error:
        return f"it is gzip, but what is in it is not a tar archive: {error}"
    return None
