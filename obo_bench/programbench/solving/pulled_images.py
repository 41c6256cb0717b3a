"""Which images a run has pulled, so that this invocation or a later one may remove them (`--rm-images`)."""

import threading
from collections.abc import Mapping
from pathlib import Path

from obo_bench.core.files import read_json_object, write_json

PULLED_NAME = "pulled_images.json"
"""The images by name, with the id that each had."""


class PulledImages:
    """The record of one run root; safe to share between threads."""

    def __init__(self, run_root: Path) -> None:
        """Take over what earlier invocations noted."""
        self._file = run_root / PULLED_NAME
        self._lock = threading.Lock()
        self._ids = {name: str(image_id) for name, image_id in (read_json_object(self._file) or {}).items()}

    @property
    def ids(self) -> Mapping[str, str]:
        """The engine's id by image name, as it was after the pull."""
        return dict(self._ids)

    def note(self, name: str, image_id: str) -> None:
        """Remember durably that the run has pulled an image that was not there; raises OSError."""
        with self._lock:
            self._ids[name] = image_id
            write_json(self._file, self._ids)
