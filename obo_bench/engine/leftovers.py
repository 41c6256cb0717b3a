"""What of ours is on a daemon: containers, volumes and images that carry our labels, and nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL, NONCE_LABEL, RUN_LABEL, WORKSPACE
from obo_bench.engine.daemon import Engine

ROLE_LABEL = "obo-bench.role"
EVALUATOR = "evaluator"
"""Role of what the official evaluator made."""
Kind = Literal["container", "volume", "image"]


@dataclass(frozen=True)
class Leftover:
    """One object on the daemon that carries our labels."""

    kind: Kind
    """What it is."""
    id: str
    """What the daemon knows it by; a volume has only its name."""
    name: str
    """What people know it by."""
    run_id: str
    """The run's id, from the label."""
    nonce: str
    """The run's nonce, from the label."""
    instance_id: str = ""
    """The instance, empty for an evaluator's."""
    role: str = ""
    """Empty for cleanrooms and their volumes."""
    workspace: Path | None = None
    """Host directory that is mounted as the workspace, as the daemon names it."""
    running: bool = False
    """Whether a container runs."""


def find_leftovers(engine: Engine, nonce: str | None = None) -> list[Leftover]:
    """Return what carries our labels, of one run or of all; containers first, because they hold the rest.

    Raises docker.errors.DockerException when the daemon does not answer.
    """
    chosen = {"label": [RUN_LABEL, f"{NONCE_LABEL}={nonce}" if nonce else NONCE_LABEL]}
    return [*_containers(engine, chosen), *_volumes(engine, chosen), *_images(engine, chosen)]


def remove_leftover(engine: Engine, item: Leftover) -> None:
    """Remove one object with whatever still runs in it; one that is gone already is fine.

    Raises docker.errors.DockerException when the daemon refuses.
    """
    from docker.errors import NotFound

    api = engine.client.api
    try:
        if item.kind == "container":
            api.remove_container(item.id, v=True, force=True)
        elif item.kind == "image":
            api.remove_image(item.id, force=True)
        elif _is_ours(api.inspect_volume(item.id), item):
            api.remove_volume(item.id, force=True)
    except NotFound:
        return


def _is_ours(volume: Mapping[str, Any], item: Leftover) -> bool:
    """A volume is known by its name alone, which somebody else may have taken since."""
    return bool((volume.get("Labels") or {}).get(NONCE_LABEL) == item.nonce)


def _containers(engine: Engine, chosen: dict[str, Any]) -> Iterator[Leftover]:
    for found in engine.client.api.containers(all=True, filters=chosen):
        name = str((found.get("Names") or [found["Id"][:12]])[0]).lstrip("/")
        yield _leftover("container", found["Id"], name, found, running=found.get("State") == "running")


def _volumes(engine: Engine, chosen: dict[str, Any]) -> Iterator[Leftover]:
    for found in engine.client.api.volumes(filters=chosen).get("Volumes") or []:
        yield _leftover("volume", found["Name"], found["Name"], found)


def _images(engine: Engine, chosen: dict[str, Any]) -> Iterator[Leftover]:
    for found in engine.client.api.images(filters=chosen):
        name = str((found.get("RepoTags") or [found["Id"]])[0])
        yield _leftover("image", found["Id"], name, found)


def _leftover(kind: Kind, id_: str, name: str, found: Mapping[str, Any], *, running: bool = False) -> Leftover:
    labels = found.get("Labels") or {}
    return Leftover(
        kind=kind,
        id=id_,
        name=name,
        run_id=str(labels.get(RUN_LABEL, "")),
        nonce=str(labels.get(NONCE_LABEL, "")),
        instance_id=str(labels.get(INSTANCE_LABEL, "")),
        role=str(labels.get(ROLE_LABEL, "")),
        workspace=_workspace(found),
        running=running,
    )


def _workspace(found: Mapping[str, Any]) -> Path | None:
    sources = [mount.get("Source") for mount in found.get("Mounts") or [] if mount.get("Destination") == WORKSPACE]
    return Path(str(sources[0])) if sources and sources[0] else None
