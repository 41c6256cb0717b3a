"""How busy the host is: tests with time limits fail on an overloaded one, and then a score says little of a program."""

import os
import time
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field

from obo_bench.core.wire_format import WireModel

LOAD_PER_CORE = 2.0
"""Processes that want a core, by core: above this, over five minutes, every process waits more than it works."""
LOAD_RECORD_NAME = "host_load.json"
LEAST_FREE_MEMORY = 0.05
"""Share of the memory that must be available."""

_MEMINFO = Path("/proc/meminfo")


class HostLoad(WireModel):
    """One look at the host."""

    model_config = ConfigDict(frozen=True)

    sampled_at_unix: float
    """Wall-clock seconds."""
    cores: int
    """Cores of the host."""
    load_1min: float | None = None
    """Load average over one minute; null where the system tells none."""
    load_5min: float | None = None
    """The same over five minutes."""
    load_15min: float | None = None
    """The same over fifteen minutes."""
    memory_total_bytes: int | None = None
    """Memory of the host; null where /proc/meminfo does not tell it."""
    memory_available_bytes: int | None = None
    """Memory that could be had without swapping; null likewise."""


class LoadRecord(WireModel):
    """The host during a stretch of work (wire format `host_load.json`)."""

    model_config = ConfigDict(frozen=True)

    schema_: Literal["obo_bench.host_load.v1"] = Field("obo_bench.host_load.v1", alias="schema")
    """Format name."""
    start: HostLoad
    """At its beginning."""
    peak: HostLoad
    """When the five-minute load was highest."""
    end: HostLoad
    """At its end."""
    least_memory_available_bytes: int | None = None
    """The least memory that was available at any look; null where unknown."""
    samples: int = 1
    """How often the host was looked at."""

    @classmethod
    def of(cls, look: HostLoad) -> Self:
        """Return the record of a first look."""
        return cls(start=look, peak=look, end=look, least_memory_available_bytes=look.memory_available_bytes)

    def with_look(self, look: HostLoad) -> Self:
        """Return the record with a later look."""
        free = (self.least_memory_available_bytes, look.memory_available_bytes)
        changes = {
            "peak": max(self.peak, look, key=lambda one: one.load_5min or 0.0),
            "end": look,
            "least_memory_available_bytes": min((size for size in free if size is not None), default=None),
            "samples": self.samples + 1,
        }
        return self.model_copy(update=changes)

    def overload(self) -> str | None:
        """Return in words why the host was overloaded, or None when it was not as far as it is known."""
        load, cores = self.peak.load_5min, self.peak.cores
        if load is not None and load > LOAD_PER_CORE * cores:
            return f"a load of {load:.1f} over five minutes on {cores} core(s): more than {LOAD_PER_CORE:g} a core"
        free, total = self.least_memory_available_bytes, self.peak.memory_total_bytes
        if free is not None and total and free < LEAST_FREE_MEMORY * total:
            return f"{free} of {total} bytes of memory available: less than {LEAST_FREE_MEMORY:.0%}"
        return None


def sample_host_load() -> HostLoad:
    """Look at the host; what the system does not tell is null. Never raises OSError."""
    memory = _memory()
    loads = _load_averages()
    return HostLoad(
        sampled_at_unix=time.time(),
        cores=os.cpu_count() or 1,
        load_1min=loads[0],
        load_5min=loads[1],
        load_15min=loads[2],
        memory_total_bytes=memory.get("MemTotal"),
        memory_available_bytes=memory.get("MemAvailable"),
    )


def _load_averages() -> tuple[float | None, float | None, float | None]:
    try:
        return os.getloadavg()
    except (OSError, AttributeError):
        return None, None, None


def _memory() -> dict[str, int]:
    """Return the sizes of /proc/meminfo in bytes, by name; empty where there is no such file."""
    try:
        lines = _MEMINFO.read_text("ascii", "replace").splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines]
    return {word[0].rstrip(":"): int(word[1]) * 1024 for word in words if len(word) == 3 and word[1].isdigit()}
