"""The recommended settings profile, `settings/programbench.json`, which is shipped in the wheel."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import obo_bench
from obo_bench.core.redact import is_secret_name
from obo_bench.gateway.admission.model_slots import (
    MODEL_SLOT,
    MODEL_SLOTS,
    direct_provider,
    migrate_model_value,
    slot_changes,
)

SOLVING_SLOTS = (MODEL_SLOT, "OUROBOROS_MODEL_HEAVY")
"""The slots whose models do the work that is graded; the others review, look at pictures, or step in."""
_PACKAGE = Path(obo_bench.__file__).parent
_PLACES = (_PACKAGE / "settings" / "programbench.json", _PACKAGE.parent / "settings" / "programbench.json")
"""In an installed wheel, and in a checkout."""


def load_profile() -> dict[str, Any]:
    """Return the whole profile, keys left blank."""
    place = next(place for place in _PLACES if place.is_file())
    profile: dict[str, Any] = json.loads(place.read_bytes())
    return profile


def wanted_settings(
    values: Mapping[str, Any], environ: Mapping[str, str], solve_model: str | None = None
) -> dict[str, Any]:
    """Return what the profile wants of a server with the settings `values`: no key, no password.

    Model names are in the form in which the server's only provider is asked, as the runtime would write them.
    `solve_model` takes the place of the profile's model in `SOLVING_SLOTS`.
    """
    wanted = {name: value for name, value in load_profile().items() if not is_secret_name(name)}
    if solve_model:
        wanted |= dict.fromkeys(SOLVING_SLOTS, solve_model.strip())
    slots = {name: wanted[name] for name in MODEL_SLOTS if name in wanted}
    changes = slot_changes(direct_provider(values, environ), slots, _canonical)
    return wanted | {change.slot: change.new for change in changes}


def differing_modes(live: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return name, live value and profile's value of what differs, models left out; settings are loosely typed."""
    wanted = {name: value for name, value in load_profile().items() if not is_secret_name(name)}
    return [
        (name, live[name], value)
        for name, value in wanted.items()
        if name not in MODEL_SLOTS and name in live and str(live[name]).strip().lower() != str(value).lower()
    ]


def _canonical(provider: str, names: Sequence[str]) -> Mapping[str, str]:
    return {name: migrate_model_value(provider, name) for name in names}
