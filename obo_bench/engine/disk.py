"""How much room is left: on the disk of the daemon, where that is this machine's, and below any path."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from obo_bench.engine.daemon import Engine


@dataclass(frozen=True)
class Disk:
    """What is known of one disk."""

    path: str
    """A directory on it."""
    free_bytes: int | None
    """What an unprivileged writer can still use; null when that cannot be known."""
    unknown: str = ""
    """Why it cannot be known."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return asdict(self)


def disk_of(path: Path) -> Disk:
    """Return the disk that `path`, or the nearest directory above it that exists, is on."""
    place = next(place for place in (path, *path.parents) if place.exists())
    try:
        found = os.statvfs(place)
    except OSError as error:
        return Disk(str(path), None, error.strerror or str(error))
    return Disk(str(path), found.f_bavail * found.f_frsize)


def engine_root(engine: Engine) -> tuple[Path | None, str]:
    """Return the daemon's root directory on this machine, or None and why it cannot be looked at.

    A daemon in a virtual machine (Docker Desktop, Colima) or on another host has a path that means nothing here; it is
    told by its kernel. Raises docker.errors.DockerException or OSError when the daemon does not answer.
    """
    info = engine.client.info()
    root = Path(str(info.get("DockerRootDir") or "/nonexistent"))
    if not engine.endpoint.startswith("unix://"):
        return None, f"the engine at {engine.endpoint} may be on another host"
    if info.get("KernelVersion") != os.uname().release:
        return None, f"the engine runs in a machine of its own ({info.get('OperatingSystem')})"
    return (root, "") if root.exists() else (None, f"{root} cannot be seen from here")


def engine_disk(engine: Engine) -> Disk:
    """Return the disk of images, containers and volumes; raises as `engine_root` does."""
    root, why = engine_root(engine)
    return disk_of(root) if root is not None else Disk("", None, why)
