"""How far a pull is, added up over an image's layers from the engine's stream of events.

Source of the format: `POST /images/create` of the Docker Engine API: `id`, `status` and `progressDetail` of each layer.
An engine with the containerd store may leave the totals out; then only the layers are counted.
"""

import time
from collections.abc import Mapping
from typing import Any

from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange, Phase

TELL_SEC = 1.0
"""Pause between two reports."""
_MOST_LAYERS = 1000
"""Layers that are counted; an image has at most 127."""
_MEGABYTE = 1_000_000
_LOADING = frozenset({"Downloading"})
_LOADED = frozenset({"Verifying Checksum", "Download complete", "Extracting", "Pull complete"})
_COMPLETE = frozenset({"Pull complete", "Already exists"})
_LAYER_WORDS = _LOADING | _LOADED | _COMPLETE | {"Pulling fs layer", "Waiting"}


class PullMeter:
    """Counts the bytes of one pull."""

    def __init__(self, reporter: Reporter, subject: str) -> None:
        self._reporter = reporter
        self._subject = subject
        self._loaded: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._complete: set[str] = set()
        self._told = 0.0

    def begin(self) -> None:
        """Show that the pull has begun."""
        if self._subject:
            self._reporter.update(InstanceChange(self._subject, phase=Phase.PULL))

    def see(self, event: Mapping[str, Any]) -> None:
        """Take one event of the stream, and show how far the pull is now and then."""
        layer, status = str(event.get("id", "")), str(event.get("status", ""))
        if not self._subject or status not in _LAYER_WORDS:
            return
        if layer not in self._loaded and len(self._loaded) >= _MOST_LAYERS:
            return
        self._count(layer, status, event.get("progressDetail"))
        now = time.monotonic()
        if now - self._told >= TELL_SEC:
            self._told = now
            self._reporter.update(InstanceChange(self._subject, progress=self.text()))

    def text(self) -> str:
        """Return how far it is: bytes where the engine tells them, else layers."""
        loaded, total = sum(self._loaded.values()), sum(self._totals.values())
        layers = f"{len(self._complete)} of {len(self._loaded)} layers"
        return f"{loaded / _MEGABYTE:.0f} of {total / _MEGABYTE:.0f} MB, {layers}" if total else layers

    def _count(self, layer: str, status: str, detail: object) -> None:
        self._loaded.setdefault(layer, 0)
        if status in _LOADING and isinstance(detail, Mapping):
            self._loaded[layer] = _bytes(detail.get("current"))
            self._totals[layer] = max(_bytes(detail.get("total")), self._loaded[layer])
        elif status in _LOADED:
            self._loaded[layer] = self._totals.get(layer, 0)
        if status in _COMPLETE:
            self._complete.add(layer)


def _bytes(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
