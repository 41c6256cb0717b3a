"""What a cleanroom must be, and how the engine is asked for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.engine.images import PLATFORM
from obo_bench.engine.seed_source import REFERENCE_MOUNT

WORKSPACE = "/workspace"
PIDS_LIMIT = 4096
DROPPED_CAPABILITIES = ("SYS_PTRACE", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "CHOWN", "SETUID")
"""What would let even the container's root read, copy, chmod or trace the reference."""
RUN_LABEL = "obo-bench.run"
INSTANCE_LABEL = "obo-bench.instance"
NONCE_LABEL = "obo-bench.nonce"
WORKSPACE_LABEL = "obo-bench.workspace"
"""Device and inode of the host directory that was mounted."""


@dataclass(frozen=True)
class CleanroomSpec:
    """What the container must be."""

    name: str
    """Its name, unique to run, instance and attempt."""
    image: str
    """The cleanroom image."""
    workspace: Path
    """Host directory that becomes /workspace."""
    user: str
    """uid:gid that owns the workspace."""
    cpus: float
    """Cores."""
    memory_bytes: int
    """Memory; swap is not added."""
    ttl_sec: int
    """Seconds after which it ends by itself."""
    labels: Mapping[str, str]
    """Our labels: nothing without them is ever touched."""
    image_id: str = ""
    """The engine's id of the image where that is known: by then the name may mean another one."""
    reference_volume: str | None = None
    """Volume that holds the protected reference; None at protection level `policy`."""


def creation(spec: CleanroomSpec) -> dict[str, Any]:
    """Return the SDK's arguments for a container that is what `spec` describes."""
    from docker.types import Mount

    # Mounts, not binds: a bind is one string with colons, which a path may hold, and makes what is missing.
    mounts = [Mount(WORKSPACE, str(spec.workspace), type="bind")]
    if spec.reference_volume:
        mounts.append(Mount(REFERENCE_MOUNT, spec.reference_volume, type="volume", read_only=True))
    return {
        "name": spec.name,
        "entrypoint": ["sleep"],
        "command": [str(spec.ttl_sec)],
        "init": True,
        "network_mode": "none",
        "cap_drop": list(DROPPED_CAPABILITIES),
        "nano_cpus": int(spec.cpus * 1_000_000_000),
        "mem_limit": spec.memory_bytes,
        "memswap_limit": spec.memory_bytes,
        "pids_limit": PIDS_LIMIT,
        "user": spec.user,
        # A uid without a passwd entry would get "/" as its home, which it cannot write.
        "environment": {} if spec.user.startswith("0:") else {"HOME": "/tmp"},
        "working_dir": WORKSPACE,
        "mounts": mounts,
        "labels": {**spec.labels, WORKSPACE_LABEL: directory_identity(spec.workspace)},
        "platform": PLATFORM,
    }


def directory_identity(path: Path) -> str:
    """Return what tells a directory from another one that took its place; empty when there is none."""
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"
