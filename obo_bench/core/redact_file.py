"""Take secrets out of a text file that another program has written, in constant memory."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from obo_bench.core.files import PRIVATE_FILE
from obo_bench.core.redact import Redactor

_LINE = 1 << 20
"""Bytes of a line that are looked at together; a longer one is divided at a blank."""


def redact_file(path: Path, redactor: Redactor) -> None:
    """Replace a text file by its redacted form, atomically; what is not UTF-8 is escaped, a missing file is none.

    Raises OSError, and then the file is as it was.
    """
    temporary = path.with_name(f".{path.name}.redacted.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileNotFoundError), path.open("rb") as source:
        try:
            with os.fdopen(os.open(temporary, flags, PRIVATE_FILE), "wb") as sink:
                for text in _texts(source):
                    sink.write(redactor.text(text).encode("utf-8", "backslashreplace"))
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _texts(source: BinaryIO) -> Iterator[str]:
    rest = b""
    while line := source.readline(_LINE):
        whole = line.endswith(b"\n")
        end = len(line) if whole else line.rfind(b" ") + 1 or len(line)
        yield (rest + line[:end]).decode("utf-8", "backslashreplace")
        rest = line[end:]
    yield rest.decode("utf-8", "backslashreplace")
