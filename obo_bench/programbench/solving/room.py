"""Make one attempt ready: image, workspace, cleanroom, and a reference that runs."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from obo_bench.core.files import read_json_object, write_json
from obo_bench.core.run_changes import Phase
from obo_bench.engine.cleanroom import Cleanroom, CleanroomUnfit, remove_cleanroom
from obo_bench.engine.cleanroom_spec import WORKSPACE, CleanroomSpec
from obo_bench.engine.leftovers import find_leftovers, remove_leftover
from obo_bench.engine.trouble import engine_errors
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.solving.not_ready import NotReady, reason_of
from obo_bench.programbench.solving.room_image import usable_image
from obo_bench.programbench.solving.workspace import (
    REFERENCE,
    WorkspacePrepareFailed,
    place_reference,
    private_scratch,
    seed_workspace,
)

ROOM_NAME = "cleanroom.json"
_PROBE_SEC = 10
_CANNOT_RUN = frozenset({126, 127})
"""What a shell answers for a file it cannot execute or find."""


@dataclass(frozen=True)
class Room:
    """A cleanroom that is ready for the agent."""

    cleanroom: Cleanroom
    """The running container."""
    reference_sha256: str
    """Hash of the reference."""
    protection: str
    """`os` or `policy`."""


def prepare_room(context: RunContext, instance: Instance, attempt: int) -> Room:
    """Make everything that the task needs; raises NotReady and leaves no container, volume or half a workspace."""
    spec = context.room_spec(instance, attempt, protected=True)
    try:
        image = usable_image(context, instance.instance_id, spec)
        return _build(context, instance.instance_id, replace(spec, image_id=image.id))
    except WorkspacePrepareFailed as error:
        raise NotReady(reason_of(context, error, "workspace_prepare_failed"), str(error)) from error
    except engine_errors(CleanroomUnfit, OSError) as error:
        raise NotReady(reason_of(context, error, "cleanroom_preflight_failed"), str(error)) from error


def find_room(context: RunContext, instance: Instance, attempt: int) -> Room | None:
    """Return the room of an earlier invocation if it is still as it must be."""
    digest, protection = reference_facts(context, instance)
    facts = _room_facts(context, instance).get("image_facts")
    if isinstance(facts, dict):
        context.images.setdefault(instance.instance_id, facts)
    cleanroom = Cleanroom.find(context.engine, context.room_spec(instance, attempt, protected=protection == "os"))
    return Room(cleanroom, digest, protection) if cleanroom is not None else None


def reference_facts(context: RunContext, instance: Instance) -> tuple[str, str]:
    """Return hash and protection level of the attempt's reference, empty where nothing was recorded."""
    facts = _room_facts(context, instance)
    return str(facts.get("reference_sha256", "")), str(facts.get("protection", ""))


def reference_traces(context: RunContext, instance: Instance) -> ReferenceTraces | None:
    """Return what the attempt's reference is recognised by; only its hash where an earlier version made the room."""
    facts = read_json_object(context.paths(instance.instance_id).directory / ROOM_NAME) or {}
    digest = facts.get("reference_sha256", "")
    return ReferenceTraces.of_document(facts.get("reference")) or ReferenceTraces.of_document({"sha256": digest})


def _room_facts(context: RunContext, instance: Instance) -> dict[str, Any]:
    return read_json_object(context.paths(instance.instance_id).directory / ROOM_NAME) or {}


def clear_rooms(context: RunContext, instance: Instance) -> None:
    """Remove every container and volume of an instance, with whatever still runs in them; a failure is only told.

    Found by their labels: a run that was killed while it made a room leaves some without a name of ours.
    """
    try:
        for item in find_leftovers(context.engine, context.nonce):
            if item.instance_id == instance.instance_id:
                remove_leftover(context.engine, item)
    except engine_errors() as error:
        context.reporter.event(f"what is left of it on the engine cannot be removed: {error}", instance.instance_id)


def _build(context: RunContext, instance_id: str, spec: CleanroomSpec) -> Room:
    volume = spec.reference_volume
    try:
        if volume:
            context.engine.client.volumes.create(volume, labels=dict(spec.labels))
        return _seed_and_start(context, instance_id, spec)
    except BaseException:
        _discard(context, spec)
        raise


def _discard(context: RunContext, spec: CleanroomSpec) -> None:
    with suppress(*engine_errors()):
        remove_cleanroom(context.engine, spec.name, spec.reference_volume, spec.labels)


def _seed_and_start(context: RunContext, instance_id: str, spec: CleanroomSpec) -> Room:
    directory = spec.workspace.parent
    context.at(instance_id, Phase.SEED)
    with private_scratch(directory) as scratch:
        seeded = seed_workspace(
            context.engine, spec.image_id, spec.workspace, scratch, dict(spec.labels), spec.reference_volume
        )
        level = seeded.protection
        context.at(instance_id, Phase.CLEANROOM)
        cleanroom = Cleanroom.start(context.engine, spec if level == "os" else replace(spec, reference_volume=None))
        if level == "os" and not _protected_and_runs(cleanroom):
            # Some file systems and daemons cannot do it; the run goes on with the weaker level, and says so.
            context.reporter.event("the reference cannot be protected by the operating system here", directory.name)
            level = "policy"
            place_reference(spec.workspace, scratch / "reference", level)
    if level == "policy":
        _require_runs(cleanroom)
    room = Room(cleanroom, seeded.reference.sha256, level)
    write_json(
        directory / ROOM_NAME,
        {
            "container": spec.name,
            "image": spec.image,
            "image_facts": {**context.images[instance_id], "pulled": False},
            "user": spec.user,
            "protection": level,
            "reference_sha256": seeded.reference.sha256,
            "reference": seeded.reference.document(),
        },
    )
    return room


def _probe(cleanroom: Cleanroom) -> int:
    """Run the reference and return its status; elsewhere, so that what it writes does not become a part of the task."""
    run = f"{WORKSPACE}/{REFERENCE} </dev/null >/dev/null 2>&1"
    return cleanroom.run(f"cd /tmp || cd / || exit; {run}", _PROBE_SEC)


def _protected_and_runs(cleanroom: Cleanroom) -> bool:
    status = _probe(cleanroom)
    read = cleanroom.run(f"cat ./{REFERENCE} >/dev/null 2>&1")
    return status not in _CANNOT_RUN and read != 0


def _require_runs(cleanroom: Cleanroom) -> None:
    status = _probe(cleanroom)
    if status in _CANNOT_RUN:
        raise NotReady("reference_not_runnable", f"./{REFERENCE} cannot be run in the cleanroom (status {status})")
