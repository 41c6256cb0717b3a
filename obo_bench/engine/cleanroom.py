"""The cleanroom: the one container that a task's commands run in, without network and without a way to look inside
the reference. Its properties are read back from the engine, never assumed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.engine.daemon import Engine
from obo_bench.engine.images import PLATFORM
from obo_bench.engine.seed_source import REFERENCE_MOUNT

if TYPE_CHECKING:
    from docker.models.containers import Container

WORKSPACE = "/workspace"
PIDS_LIMIT = 4096
DROPPED_CAPABILITIES = ("SYS_PTRACE", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "CHOWN", "SETUID")
"""What would let even the container's root read, copy, chmod or trace the reference."""
RUN_LABEL = "obo-bench.run"
INSTANCE_LABEL = "obo-bench.instance"
NONCE_LABEL = "obo-bench.nonce"


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
    reference_volume: str | None = None
    """Volume that holds the protected reference; None at protection level `policy`."""


class CleanroomUnfit(RuntimeError):
    """The engine did not give us the container that was asked for; the message names every difference."""


class Cleanroom:
    """A running cleanroom."""

    def __init__(self, engine: Engine, spec: CleanroomSpec, container: "Container") -> None:
        self._engine = engine
        self.spec = spec
        self._container = container

    @classmethod
    def start(cls, engine: Engine, spec: CleanroomSpec) -> "Cleanroom":
        """Create and start the container and check it; removes what it made when anything fails."""
        container = engine.client.containers.create(spec.image, **_creation(spec))
        try:
            container.start()
            room = cls(engine, spec, container)
            room.preflight()
        except BaseException:
            container.remove(force=True)
            raise
        return room

    @classmethod
    def find(cls, engine: Engine, spec: CleanroomSpec) -> "Cleanroom | None":
        """Return the container of an earlier invocation if it is there and still as it must be.

        Its user is the one it was started with: who resumes must not cost the task its container.
        """
        from docker.errors import NotFound

        try:
            container = engine.client.containers.get(spec.name)
        except NotFound:
            return None
        room = cls(engine, replace(spec, user=str(container.attrs["Config"]["User"])), container)
        return room if room.trouble() is None else None

    def preflight(self) -> None:
        """Raise CleanroomUnfit unless inspection shows the container that the specification describes."""
        self._container.reload()
        found = differences(self._container.attrs, self.spec)
        if found:
            raise CleanroomUnfit(f"container {self.spec.name!r}: {'; '.join(found)}")

    def trouble(self) -> str | None:
        """Return what is certainly wrong with the container now; None also while the engine cannot be asked."""
        from docker.errors import DockerException, NotFound

        try:
            self._container.reload()
        except NotFound:
            return "it does not exist any more"
        except (DockerException, OSError):
            # A moment of silence of the engine must not end a paid task.
            return None
        return "; ".join(differences(self._container.attrs, self.spec)) or None

    def renew(self) -> None:
        """Let the time to live begin anew, before anything was run in it."""
        self._container.restart(timeout=1)
        self.preflight()

    def run(self, script: str, timeout_sec: int = 20) -> tuple[int, str]:
        """Run a shell script in the container, bounded inside it; returns exit status (124: too long) and output."""
        command = ["timeout", "-k", "2", str(timeout_sec), "sh", "-c", script]
        status, output = self._container.exec_run(command, workdir=WORKSPACE)
        return int(status if status is not None else -1), _text(output)


def remove_cleanroom(engine: Engine, name: str, volume: str | None, labels: Mapping[str, str]) -> None:
    """Remove container and volume by name if they carry our labels; absent ones are fine."""
    from docker.errors import NotFound

    try:
        container = engine.client.containers.get(name)
        if container.labels.get(RUN_LABEL) == labels[RUN_LABEL]:
            container.remove(force=True)
    except NotFound:
        pass
    if volume:
        try:
            found = engine.client.volumes.get(volume)
            if (found.attrs.get("Labels") or {}).get(RUN_LABEL) == labels[RUN_LABEL]:
                found.remove(force=True)
        except NotFound:
            pass


def remove_all_of_run(engine: Engine, nonce: str) -> None:
    """Remove every container and volume that carries the nonce of a run whose tasks are known to be over."""
    chosen: dict[str, Any] = {"label": f"{NONCE_LABEL}={nonce}"}
    for container in engine.client.containers.list(all=True, filters=chosen):
        container.remove(force=True)
    for volume in engine.client.volumes.list(filters=chosen):
        volume.remove(force=True)


def differences(attrs: Mapping[str, Any], spec: CleanroomSpec) -> list[str]:
    """Return how an inspected container differs from its specification."""
    host, state = attrs["HostConfig"], attrs["State"]
    networks = attrs.get("NetworkSettings", {}).get("Networks") or {}
    found = []
    if not state.get("Running"):
        killed = ", out of memory" if state.get("OOMKilled") else ""
        found.append(f"it is {state.get('Status')} (exit {state.get('ExitCode')}{killed})")
    if host.get("NetworkMode") != "none" or any(name != "none" for name in networks):
        found.append(f"its network is {host.get('NetworkMode')!r} {sorted(networks)}, not 'none'")
    if host.get("Privileged"):
        found.append("it is privileged")
    dropped = {str(name).removeprefix("CAP_") for name in host.get("CapDrop") or []}
    missing = sorted(set(DROPPED_CAPABILITIES) - dropped)
    if missing:
        found.append(f"capabilities {missing} were not dropped")
    if attrs.get("Config", {}).get("User") != spec.user:
        found.append(f"it runs as {attrs.get('Config', {}).get('User')!r}, not {spec.user!r}")
    if not any(mount.get("Destination") == WORKSPACE for mount in attrs.get("Mounts") or []):
        found.append(f"nothing is mounted at {WORKSPACE}")
    return found


def operator_user(engine: Engine, uid: int, gid: int) -> str:
    """Return the container user whose files on the host belong to the operator."""
    return "0:0" if engine.rootless else f"{uid}:{gid}"


def _text(output: object) -> str:
    return output[:4000].decode("utf-8", "replace") if isinstance(output, bytes) else ""


def _creation(spec: CleanroomSpec) -> dict[str, Any]:
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
        "labels": dict(spec.labels),
        "platform": PLATFORM,
    }
