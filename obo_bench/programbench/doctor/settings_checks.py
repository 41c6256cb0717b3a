"""The settings: of the file, of the live server, against each other, against the profile; keys only as there or not."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import Objection
from obo_bench.gateway.admission.live_settings import credentials, model_slots
from obo_bench.gateway.admission.model_slots import MODEL_SLOT
from obo_bench.gateway.admission.readiness import require_settings
from obo_bench.gateway.admission.runtime_migration import ModelNames
from obo_bench.gateway.admission.solve_model import declared_objection, examine_slots, live_objection
from obo_bench.gateway.openrouter import KEY_NAME
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World
from obo_bench.programbench.server_profile.profile import differing_modes

_MOST_TOLD = 6


def file(world: World) -> Verdict:
    """Say whether the settings file can be read."""
    found = world.file.ask()
    if not found.present:
        return ok(f"there is no {str(found.path)!r}: only the live server's settings count")
    return ok(f"{str(found.path)!r} holds {len(found.values)} settings")


def slots(world: World) -> Verdict:
    """Say whether the runtime would take the model names of the file, and --solve-model, as they are written."""
    found, flag = world.file.need(), world.options.solve_model
    where = f"the settings file {str(found.path)!r}" if found.present else "the declared model"
    report = examine_slots(where, found.values, world.environ, _rules(world), flag)
    objection = report.objection() or declared_objection(flag, found)
    if objection:
        return _held(objection)
    solving = flag or found.text(MODEL_SLOT)
    if not solving:
        return ok("neither the file nor --solve-model names a model: the live server's solves")
    return ok(f"{solving} solves; {len(report.slots)} slots are set, asked for {_provider(report.provider)}")


def live(world: World) -> Verdict:
    """Say whether the live server shows its settings, in the runtime's own form, and solves with the declared model."""
    world.health.need()
    values = require_settings(world.options.url, world.live.need())
    rules = _rules(world)
    declared = world.options.solve_model or _file_model(world)
    objection = examine_slots("the live server's settings", values, {}, rules).objection()
    objection = objection or live_objection(declared, values, rules)
    if objection:
        return _held(objection)
    return ok(f"the server solves with {model_slots(values).get(MODEL_SLOT) or declared}")


def profile(world: World) -> Verdict:
    """Say in which modes the live server differs from the recommended profile."""
    found = differing_modes(world.live_values())
    if not found:
        return ok("the server's modes are those of the recommended profile")
    told = ", ".join(f"{name} is {now!r}, not {wanted!r}" for name, now, wanted in found[:_MOST_TOLD])
    more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    place = str(world.options.settings_path or "FILE")
    return warn(
        f"{told}{more}",
        f"see `obo-bench programbench settings --into {place}`; or leave it, the manifest records what holds",
    )


def key(world: World) -> Verdict:
    """Say where the OpenRouter key is; what it is, nobody is told."""
    places = list(_places(world))
    if places:
        return ok(f"{KEY_NAME} is set in {' and '.join(places)}")
    missing = f"{KEY_NAME} is neither in the settings nor the environment nor known to the server"
    if others := _other_providers(world):
        return ok(f"{missing}, which has {', '.join(others)}: --min-budget-usd cannot be used")
    return warn(missing, f"put {KEY_NAME} into the server's settings, unless its models are local or need no key")


def _other_providers(world: World) -> list[str]:
    try:
        there = credentials(world.live_values())
    except CannotLook:
        return []
    return [name for name, is_set in there.items() if is_set and name.endswith(("_API_KEY", "_CREDENTIALS"))]


def _places(world: World) -> Sequence[str]:
    found = []
    for place, values in (
        ("the settings file", lambda: world.file.need().values),
        ("the environment", lambda: world.environ),
        ("the server", world.live_values),
    ):
        if _is_set(values):
            found.append(place)
    return found


def _is_set(values: Callable[[], Mapping[str, Any]]) -> bool:
    try:
        return bool(str(values().get(KEY_NAME) or "").strip())
    except CannotLook:
        return False


def _file_model(world: World) -> str | None:
    try:
        return world.file.need().text(MODEL_SLOT)
    except CannotLook:
        return None


def _rules(world: World) -> Callable[[str, Sequence[str]], Mapping[str, str]]:
    return ModelNames(world.options.repo_dir or Path(os.devnull), world.version()).normalize


def _provider(name: str | None) -> str:
    return f"at {name}" if name else "as provider/model"


def _held(objection: Objection) -> Verdict:
    return fail(objection.message, objection.remedy or REASONS[objection.reason].remedy)
