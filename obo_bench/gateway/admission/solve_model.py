"""Which model solves: every declared slot in canonical form, and file, flag and live server of one mind."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from obo_bench.core.refusals import Objection
from obo_bench.gateway.admission.live_settings import counts_minimax, model_slots
from obo_bench.gateway.admission.model_slots import (
    MODEL_SLOT,
    Normalize,
    SlotChange,
    direct_provider,
    slot_changes,
)
from obo_bench.gateway.admission.settings import SettingsFile

FLAG = "--solve-model"


@dataclass(frozen=True)
class SlotReport:
    """The model slots of one source, held against the runtime's rules."""

    where: str
    """Whose slots they are, for a message."""
    provider: str | None
    """The one direct provider; None when `provider/model` is canonical."""
    slots: Mapping[str, str]
    """The slots that are not empty."""
    changes: Sequence[SlotChange]
    """Those that the runtime would rewrite."""

    @property
    def normalized(self) -> dict[str, str]:
        """The slots as the runtime would use them."""
        return {**self.slots, **{change.slot: change.new for change in self.changes}}

    def objection(self) -> Objection | None:
        """Return what is held against the slots, with the exact replacement for each."""
        if not self.changes:
            return None
        write = "; ".join(
            f"{change.slot}: write {json.dumps(change.new, ensure_ascii=False)} "
            f"instead of {json.dumps(change.old, ensure_ascii=False)}"
            for change in self.changes
        )
        return Objection(
            "model_slot_invalid",
            f"{self.where}: the only provider is {self.provider!r}, which is not called by these names. {write}",
            evidence={
                "provider": self.provider,
                "slots": [{"slot": change.slot, "old": change.old, "new": change.new} for change in self.changes],
            },
        )


def examine_slots(
    where: str, values: Mapping[str, Any], environ: Mapping[str, str], normalize: Normalize, flag: str | None = None
) -> SlotReport:
    """Hold the slots of `values`, and the model of the flag, against the rules; `environ` lends the keys not in it."""
    provider = direct_provider(values, environ)
    slots = model_slots(values)
    asked = {**slots, FLAG: flag} if flag else slots
    return SlotReport(where, provider, slots, slot_changes(provider, asked, normalize))


def declared_objection(solve_model: str | None, settings: SettingsFile) -> Objection | None:
    """Say whether the flag contradicts the settings file; both are canonical already."""
    in_file = settings.text(MODEL_SLOT)
    if not solve_model or not in_file or solve_model.strip() == in_file:
        return None
    return Objection(
        "solve_model_mismatch",
        f"{FLAG} {solve_model!r} is not the {MODEL_SLOT} of {str(settings.path)!r}, which is {in_file!r}",
        evidence={"declared": solve_model, "settings": in_file, "settings_path": str(settings.path)},
    )


def live_objection(declared: str | None, live: Mapping[str, Any], normalize: Normalize) -> Objection | None:
    """Say whether the live server solves with another model than the declared one, or nobody names any."""
    running = model_slots(live).get(MODEL_SLOT)
    if not declared and not running:
        return Objection(
            "solve_model_undeclared",
            f"neither {FLAG}, the settings nor the live server name a model",
            evidence={"declared": None, "live": None, "slot": MODEL_SLOT},
        )
    if not declared or (
        running and _same(declared, running, direct_provider(live, {}, counts_minimax=counts_minimax(live)), normalize)
    ):
        return None
    return Objection(
        "target_settings_mismatch",
        f"the live server solves with {running!r}, declared is {declared!r}",
        evidence={"declared": declared, "live": running},
    )


def _same(declared: str, running: str, provider: str | None, normalize: Normalize) -> bool:
    """Compare in canonical form: with one direct provider the live answer is rewritten already."""
    declared, running = declared.strip(), running.strip()
    if declared == running or provider is None:
        return declared == running
    found = normalize(provider, [declared, running])
    return found[declared] == found[running]
