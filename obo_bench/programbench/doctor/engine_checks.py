"""The Docker engine: reachable, fit for the official images, with room enough."""

import os
from pathlib import Path
from typing import Any

from obo_bench.core.refusal_reasons import REASONS
from obo_bench.engine.cleanroom import operator_user
from obo_bench.engine.images import PLATFORM
from obo_bench.programbench.admission.disk_room import GIB, require_disk_room
from obo_bench.programbench.admission.limits import cleanroom_limits
from obo_bench.programbench.doctor.verdict import Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World

OLDEST_API = (1, 41)
"""From here on a container can be created for a platform (Docker 20.10)."""
_AMD64 = frozenset({"x86_64", "amd64"})


def engine(world: World) -> Verdict:
    """Say whether the daemon that a docker user would get answers."""
    found = world.engine.ask()
    memory = f"{found.memory_bytes / GIB:.1f} GiB" if found.memory_bytes else "unknown memory"
    where = f"{found.endpoint} ({_chosen_by(world)})"
    return ok(f"Docker {found.version} at {where}: {found.cpus} core(s), {memory}")


def architecture(world: World) -> Verdict:
    """Say whether the official images run natively."""
    info = world.engine_info.need()
    system, machine = str(info.get("OSType") or "unknown"), str(info.get("Architecture") or "unknown")
    if system != "linux":
        return fail(
            f"the engine runs {system} containers, the images are {PLATFORM}", "switch the engine to Linux containers"
        )
    if machine not in _AMD64:
        return warn(
            f"the engine is {machine}, the images are {PLATFORM}: they run only by emulation, several times slower, "
            "and tests with time limits may fail",
            "use an x86-64 machine for results that count; on a Mac use Rosetta (Docker Desktop, or "
            "`colima start --vm-type vz --vz-rosetta`)",
        )
    return ok(f"{system}/{machine}: the {PLATFORM} images run natively")


def api(world: World) -> Verdict:
    """Say whether the daemon is new enough."""
    stated = str(world.engine_info.need()["api"].get("ApiVersion") or "")
    if _numbers(stated) < OLDEST_API:
        least = ".".join(map(str, OLDEST_API))
        return fail(
            f"the engine speaks API {stated or 'of no stated version'}, at least {least} is needed",
            "update Docker to 20.10 or newer",
        )
    return ok(f"API {stated}")


def rootless(world: World) -> Verdict:
    """Say as whom cleanrooms run."""
    found = world.engine.need()
    user = operator_user(found, os.getuid(), os.getgid())
    kind = "rootless: root in a container is the daemon's user" if found.rootless else "not rootless"
    return ok(f"{kind}; cleanrooms run as {user}")


def disk(world: World) -> Verdict:
    """Say whether there is room for one instance at a time."""
    place = world.options.runs_root or Path.cwd()
    _, facts, notices = require_disk_room(world.engine.need(), place, (), workers=1, keep_images=False)
    free = {name: facts[name]["free_bytes"] for name in ("engine", "run_root")}
    told = f"free: {_gib(free['engine'])} for the engine, {_gib(free['run_root'])} at {str(place)!r}"
    if not notices:
        return ok(told)
    remedy = "look at the engine's disk yourself" if free["engine"] is None else REASONS["engine_disk_low"].remedy
    return warn(f"{told}; {'; '.join(notices)}", remedy)


def limits(world: World) -> Verdict:
    """Say whether the engine has what a cleanroom gets by default."""
    options = world.options.as_run()
    cpus, _, notices = cleanroom_limits(world.engine.need(), options)
    if not notices:
        return ok(f"a cleanroom gets its {cpus:g} core(s) and {options.memory}")
    return warn(
        f"{'; '.join(notices)}: scores and times are not those of the official setting",
        "give the engine more, or accept it with --cpus and --memory",
    )


def _chosen_by(world: World) -> str:
    if world.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST"
    context = world.environ.get("DOCKER_CONTEXT")
    return f"DOCKER_CONTEXT {context}" if context else "the current docker context, or the usual socket"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _gib(size: Any) -> str:
    return "unknown" if size is None else f"{size / GIB:.1f} GiB"
