"""The operator's container, held against what a cleanroom must be: read from the engine, never assumed.

Nothing here changes it. Two harmless questions are asked inside: which directory it sees, and whether the reference
can be run.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.engine.bounded import bounded
from obo_bench.engine.cleanroom import TOO_LONG
from obo_bench.engine.cleanroom_spec import WORKSPACE
from obo_bench.engine.daemon import Engine
from obo_bench.engine.disk import engine_root
from obo_bench.engine.images import ImageIdentity, find_image
from obo_bench.engine.inspection import capabilities, exit_facts, is_paused, not_isolated
from obo_bench.engine.trouble import engine_errors
from obo_bench.programbench.preparing.preparation import Blocked

if TYPE_CHECKING:
    from docker.models.containers import Container

UNFIT = "cleanroom_preflight_failed"
NO_ANSWER = frozenset({TOO_LONG, 125, 126, 127, 137})
"""Statuses of a question that was not answered: too late, or no shell or no tool to answer with."""
_TRACING = "SYS_PTRACE"
_DESKTOP_PREFIX = "/host_mnt"
"""Docker Desktop names a directory of the host by its place in the machine that the engine runs in."""
_QUESTION_SEC = 10
_DEADLINE_SEC = 30.0
_POLL_SEC = 0.02


@dataclass(frozen=True)
class FoundContainer:
    """A container that is fit to be a cleanroom."""

    container: "Container"
    """The SDK's object."""
    image: ImageIdentity
    """The image that it really runs."""
    facts: Mapping[str, Any]
    """What the record says of it."""

    def answers(self, script: str) -> int:
        """Return the exit status of a shell script in the container, run as the agent's commands are.

        Raises what `engine_errors` lists.
        """
        command = ["timeout", "-k", "2", str(_QUESTION_SEC), "sh", "-c", script]
        return bounded(_DEADLINE_SEC, lambda: self._ended(command), "a question to the container")

    def _ended(self, command: Sequence[str]) -> int:
        if self.container.client is None:
            raise AssertionError("a container of the engine has a client")
        api = self.container.client.api
        exec_id = api.exec_create(self.container.id, list(command), workdir=WORKSPACE)["Id"]
        # Detached, because nobody reads what a shell of an unknown image may print.
        api.exec_start(exec_id, detach=True)
        give_up = time.monotonic() + _DEADLINE_SEC
        while time.monotonic() < give_up:
            found = api.exec_inspect(exec_id)
            if not found["Running"] and found["ExitCode"] is not None:
                return int(found["ExitCode"])
            time.sleep(_POLL_SEC)
        return TOO_LONG


def inspect_container(engine: Engine, name: str, image: str, workspace: Path) -> FoundContainer:
    """Return the operator's container; raises Blocked `cleanroom_preflight_failed` naming every difference."""
    from docker.errors import NotFound

    try:
        container = engine.client.containers.get(name)
        real = _image_of(engine, container.attrs, image)
        found = _differences(engine, container.attrs, name, image, workspace)
        facts = container_facts(container.attrs)
        kept = FoundContainer(container, real, facts)
        if not found:
            found = _other_directory(engine, kept, workspace)
    except NotFound as error:
        raise Blocked(UNFIT, f"there is no container {name!r}; `docker ps --all` lists those there are") from error
    except engine_errors() as error:
        raise Blocked(UNFIT, f"the engine does not tell about container {name!r}: {error}") from error
    if found:
        raise Blocked(UNFIT, f"container {name!r}: {'; '.join(found)}", container=facts, differences=found)
    return kept


def container_facts(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record says of an inspected container; limits are null where there are none."""
    host = attrs["HostConfig"]
    mounts = [mount for mount in attrs.get("Mounts") or [] if mount.get("Destination") == WORKSPACE]
    return {
        "id": attrs.get("Id"),
        "name": str(attrs.get("Name", "")).lstrip("/"),
        "image": attrs["Config"].get("Image"),
        "image_id": attrs.get("Image"),
        "user": attrs["Config"].get("User"),
        "network_mode": host.get("NetworkMode"),
        **exit_facts(attrs),
        "capabilities_dropped": sorted(capabilities(host.get("CapDrop"))),
        "capabilities_added": sorted(capabilities(host.get("CapAdd"))),
        "workspace_mount": {name: mounts[0].get(name) for name in ("Type", "Source", "RW")} if mounts else None,
        "limits": {
            "cpus": _cpus(host),
            "memory_bytes": host.get("Memory") or None,
            "memory_swap_bytes": host.get("MemorySwap") or None,
            "pids": host.get("PidsLimit") or None,
        },
    }


def missing_limits(facts: Mapping[str, Any]) -> list[str]:
    """Return the limits that a container lacks, of those that `run` always sets."""
    return [name for name in ("cpus", "memory_bytes", "pids") if facts["limits"][name] is None]


def _cpus(host: Mapping[str, Any]) -> float | None:
    if host.get("NanoCpus"):
        return float(host["NanoCpus"]) / 1e9
    quota, period = host.get("CpuQuota") or 0, host.get("CpuPeriod") or 100_000
    return quota / period if quota > 0 else None


def _image_of(engine: Engine, attrs: Mapping[str, Any], name: str) -> ImageIdentity:
    found = find_image(engine, str(attrs["Image"]))
    return ImageIdentity(name=name, id=str(attrs["Image"]), digests=found.digests if found else ())


def _differences(engine: Engine, attrs: Mapping[str, Any], name: str, image: str, workspace: Path) -> list[str]:
    return [
        *_other_name(attrs, name),
        *not_isolated(attrs),
        *(["it is paused"] if is_paused(attrs) else []),
        *_other_image(engine, attrs, image),
        *_traceable(attrs["HostConfig"]),
        *_other_mount(attrs, workspace),
    ]


def _other_name(attrs: Mapping[str, Any], name: str) -> Iterator[str]:
    """The engine also finds a container by the beginning of its id, which the server does not."""
    real = str(attrs.get("Name", "")).lstrip("/")
    if real != name:
        yield f"its name is {real!r}: name it by that"


def _other_image(engine: Engine, attrs: Mapping[str, Any], image: str) -> Iterator[str]:
    if attrs["Config"].get("Image") == image:
        return
    expected = find_image(engine, image)
    if expected is None:
        yield f"its image is {attrs['Config'].get('Image')!r}, not {image!r} (which is not on the engine)"
    elif expected.id != attrs["Image"]:
        yield f"its image is {attrs['Config'].get('Image')!r} ({attrs['Image']}), not {image!r} ({expected.id})"


def _traceable(host: Mapping[str, Any]) -> Iterator[str]:
    dropped, added = capabilities(host.get("CapDrop")), capabilities(host.get("CapAdd"))
    if not {_TRACING, "ALL"} & dropped or {_TRACING, "ALL"} & added:
        yield f"capability {_TRACING} was not dropped (--cap-drop {_TRACING})"


def _other_mount(attrs: Mapping[str, Any], workspace: Path) -> Iterator[str]:
    mounts = [mount for mount in attrs.get("Mounts") or [] if mount.get("Destination") == WORKSPACE]
    if not mounts:
        yield f"nothing is mounted at {WORKSPACE}"
        return
    source = str(mounts[0].get("Source", ""))
    if mounts[0].get("Type") != "bind":
        yield f"{WORKSPACE} is a {mounts[0].get('Type')}, no directory of the host"
    elif not workspace.is_dir():
        yield f"{WORKSPACE} is {source!r}, and --workspace {str(workspace)!r} is no directory"
    elif not _is_same(source, workspace):
        yield f"{WORKSPACE} is {source!r}, not --workspace {str(workspace)!r}"
    elif not mounts[0].get("RW", True):
        yield f"{WORKSPACE} is mounted read-only"


def _is_same(source: str, workspace: Path) -> bool:
    places = (Path(source), Path(source.removeprefix(_DESKTOP_PREFIX)))
    return any(
        place.resolve() == workspace.resolve() or (place.is_dir() and place.samefile(workspace)) for place in places
    )


def _other_directory(engine: Engine, found: FoundContainer, workspace: Path) -> list[str]:
    """A directory that was removed and made again has the same name, but the container still sees the old one.

    An engine in a machine of its own numbers files differently, so that nothing can be told there.
    """
    if engine_root(engine)[0] is None:
        return []
    status = found.answers(f'[ "$(stat -c %i {WORKSPACE})" = {workspace.stat().st_ino} ]')
    if status == 0 or status in NO_ANSWER:
        return []
    return [f"the directory that it sees at {WORKSPACE} is another one than {str(workspace)!r} is now"]
