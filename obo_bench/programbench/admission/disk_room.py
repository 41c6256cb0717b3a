"""Room on the disks of a run: enough to begin with, and enough to begin each instance.

A disk that fills up in mid-run spoils paid work, so nothing is started below the floor.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.daemon import Engine
from obo_bench.engine.disk import Disk, disk_of, engine_disk, engine_root
from obo_bench.engine.images import find_image

GIB = 1 << 30
ENGINE_FLOOR = 5 * GIB
"""What must be free on the engine's disk: what it needs to stay alive, and one image of the usual size."""
RUN_FLOOR = GIB
"""What must be free on the run root's disk: a workspace, its archive and the records."""
PER_WORKER = 2 * GIB
"""What one instance at work may write: its workspace, and what its container writes outside of it."""
PER_IMAGE = 3 * GIB
"""A cleanroom image that is still to be pulled, unpacked."""


@dataclass(frozen=True)
class DiskRoom:
    """The disks of a run; asked again before each instance."""

    run_root: Path
    """Where the run is written."""
    engine_root: Path | None
    """The daemon's root, where it can be looked at."""

    def shortage(self) -> str | None:
        """Return what is below its floor now, or None."""
        found = [_short(disk_of(self.run_root), RUN_FLOOR, "the run root")]
        if self.engine_root is not None:
            found.append(_short(disk_of(self.engine_root), ENGINE_FLOOR, "the engine"))
        return "; ".join(text for text in found if text) or None


def require_disk_room(
    engine: Engine, run_root: Path, images: Iterable[str], *, workers: int, keep_images: bool
) -> tuple[DiskRoom, dict[str, Any], list[str]]:
    """Return the disks, what the manifest says of them, and a notice where the estimate exceeds what is free.

    `images` are the names that the run needs; only `workers` at a time unless `keep_images`.
    Raises PreflightRefused `engine_disk_low` below a floor.
    """
    on_engine, below = engine_disk(engine), disk_of(run_root)
    missing = sum(find_image(engine, name) is None for name in dict.fromkeys(images))
    at_once = missing if keep_images else min(missing, workers)
    needed = ENGINE_FLOOR + workers * PER_WORKER + at_once * PER_IMAGE
    facts = {
        "engine": {**on_engine.facts(), "floor_bytes": ENGINE_FLOOR, "estimate_bytes": needed},
        "run_root": {**below.facts(), "floor_bytes": RUN_FLOOR},
        "images_missing": missing,
    }
    short = [_short(on_engine, ENGINE_FLOOR, "the engine"), _short(below, RUN_FLOOR, "the run root")]
    if any(short):
        raise PreflightRefused("engine_disk_low", "; ".join(filter(None, short)), evidence=facts)
    room = DiskRoom(run_root, engine_root(engine)[0])
    return room, facts, _notices(on_engine, needed, missing)


def _notices(disk: Disk, needed: int, missing: int) -> list[str]:
    if disk.free_bytes is None:
        return [f"free space of the engine is not checked: {disk.unknown}"]
    if disk.free_bytes >= needed:
        return []
    notice = (
        f"the engine has {_gib(disk.free_bytes)} free and may need {_gib(needed)} ({missing} images to pull): "
        f"the run stops starting instances below {_gib(ENGINE_FLOOR)}; --rm-images keeps only what is in use"
    )
    return [notice]


def _short(disk: Disk, floor: int, whose: str) -> str:
    if disk.free_bytes is None or disk.free_bytes >= floor:
        return ""
    return f"{_gib(disk.free_bytes)} are free for {whose} at {disk.path!r}, at least {_gib(floor)} are needed"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
