"""Puts a summary into its place only when its grader has ended normally, and takes the old one out of it first.

    clear    the old summary is kept beside, under a name with its hash: from now on there is none
    stage    the new one is written durably beside its place, under a hidden name
    publish  after the ending is on record, one rename puts it into place

So whatever ends a grader in between (an error, a signal, SIGKILL) leaves no summary in place, neither old nor new, and
one that is there belongs to a manifest that tells its end.
"""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.core.files import json_bytes, read_json_object, sha256_file, sync_directory, write_bytes
from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.swe_bench_pro.options import SUMMARY_NAME

_FORMAT = "ouroboros.swe_bench_pro.grade_summary."


class Publication:
    """The place of one summary, in the hands of one grader."""

    def __init__(self, place: Path) -> None:
        self.place = place
        """Where the summary is published."""
        self._staged: Path | None = None

    def clear(self) -> Path | None:
        """Set aside what is in place, and return where it is kept; None where nothing was.

        Raises PreflightRefused `output_unwritable`, also for a file that is no summary: that one stays.
        """
        if not self._is_replaceable():
            what = "it is a directory" if self.place.is_dir() else "there is a file that is no grade summary"
            raise self._unwritable(what)
        try:
            return set_aside(self.place)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def stage(self, document: Mapping[str, Any]) -> str:
        """Write the new summary beside its place; returns its SHA-256, raises PreflightRefused `output_unwritable`."""
        data = json_bytes(document)
        staged = self.place.with_name(f".{self.place.name[:60]}.{secrets.token_hex(8)}.tmp")
        try:
            # A file that the operator named is his to share: his umask decides.
            write_bytes(staged, data, mode=0o666)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        self._staged = staged
        return hashlib.sha256(data).hexdigest()

    def publish(self) -> None:
        """Put the staged summary into place; one that came there in the meantime is set aside. Raises OSError."""
        if self._staged is None:
            raise ValueError("nothing is staged")
        set_aside(self.place)
        self._staged.rename(self.place)
        self._staged = None
        sync_directory(self.place.parent)

    def discard(self) -> None:
        """Remove what was staged: its grader did not end normally."""
        if self._staged is not None:
            with contextlib.suppress(OSError):
                self._staged.unlink()
        self._staged = None

    def _is_replaceable(self) -> bool:
        if self.place.name == SUMMARY_NAME or not os.path.lexists(self.place):
            return True
        found = read_json_object(self.place) or {}
        return str(found.get("schema")).startswith(_FORMAT)

    def _unwritable(self, why: str) -> PreflightRefused:
        return PreflightRefused(
            "output_unwritable",
            f"the summary cannot be written to {str(self.place)!r}: {why}",
            evidence={"summary": str(self.place), "why": why},
            remedy="name a summary's place in a directory that exists and can be written (--summary)",
        )


def set_aside(place: Path) -> Path | None:
    """Rename what is in place, a link itself and not what it leads to, and return where it is now; raises OSError."""
    if not os.path.lexists(place):
        return None
    kept = place.with_name(f"{place.stem}.{_identity(place)}{place.suffix}")
    place.replace(kept)
    sync_directory(place.parent)
    return kept


def _identity(place: Path) -> str:
    """Return the hash of a file's bytes, of the text of a link; what cannot be read is moved out of the way, too."""
    try:
        return hashlib.sha256(os.fsencode(place.readlink())).hexdigest() if place.is_symlink() else sha256_file(place)
    except OSError:
        return f"unreadable-{secrets.token_hex(8)}"
