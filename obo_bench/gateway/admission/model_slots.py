"""How the runtime writes model names: the table, the provider decision, and the slots that must already follow both.

The table reproduces the runtime's own `migrate_model_value` as observed on Ouroboros 6.75 and 6.102. With exactly one
direct provider the runtime writes `provider::model`; a slot in another form would reach a model that nobody named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MODEL_SLOT = "OUROBOROS_MODEL"
MODEL_SLOTS = (
    MODEL_SLOT,
    "OUROBOROS_MODEL_HEAVY",
    "OUROBOROS_MODEL_LIGHT",
    "OUROBOROS_MODEL_VISION",
    "OUROBOROS_MODEL_CONSCIOUSNESS",
    "OUROBOROS_MODEL_FALLBACKS",
    "OUROBOROS_MODEL_DEEP_SELF_REVIEW",
    "CLAUDE_CODE_MODEL",
    "OUROBOROS_WEBSEARCH_MODEL",
    "OUROBOROS_REVIEW_MODELS",
    "OUROBOROS_SCOPE_REVIEW_MODELS",
    "OUROBOROS_SCOPE_REVIEW_MODEL",
)
"""The settings that name models; any of them may hold a comma list."""

_DASHED = frozenset({"claude-opus-4.6", "claude-opus-4.7", "claude-opus-4.8", "claude-sonnet-4.6"})
"""The only names whose dot becomes a dash at Anthropic."""
_ROUTERS = ("OPENROUTER_API_KEY", "OPENAI_BASE_URL", "OPENAI_COMPATIBLE_BASE_URL")
"""With any of them set, `provider/model` is canonical and nothing is rewritten."""
_DIRECT: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "openai": (("OPENAI_API_KEY",),),
    "anthropic": (("ANTHROPIC_API_KEY",),),
    "cloudru": (("CLOUDRU_FOUNDATION_MODELS_API_KEY",),),
    "gigachat": (("GIGACHAT_CREDENTIALS",), ("GIGACHAT_USER", "GIGACHAT_PASSWORD")),
}
"""What makes a provider direct: any of the groups, all keys of it set."""
_MINIMAX = {"minimax": (("MINIMAX_API_KEY",),)}

Normalize = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Gives for a provider the canonical form of each name."""


@dataclass(frozen=True)
class SlotChange:
    """A slot that the runtime would rewrite."""

    slot: str
    """The setting."""
    old: str
    """What it holds."""
    new: str
    """What it must hold instead: the whole value, lists included."""


def migrate_model_value(provider: str, value: object, *, version: str | None = None) -> str:
    """Return the canonical form of one model name, as the runtime does; lists are not split.

    `version` is the runtime's: it knows the provider `minimax` from 6.102 on.
    """
    name = "" if value is None else str(value).strip()
    if provider == "anthropic":
        return _anthropic(name)
    renames = provider in ("openai", "cloudru") or (provider == "minimax" and _knows_minimax(version))
    if renames and name.startswith(f"{provider}/"):
        return f"{provider}::{name.removeprefix(f'{provider}/')}"
    return name


def direct_provider(
    values: Mapping[str, Any], environ: Mapping[str, str], *, counts_minimax: bool = False
) -> str | None:
    """Return the one provider that is asked directly, or None when `provider/model` is canonical.

    Each key is the setting if it is not blank, else the environment's; what the live server shows masked counts as set.
    `counts_minimax`: decide as a server of 6.102 does for itself; its benchmark runner does not count that provider.
    """

    def is_set(key: str) -> bool:
        return any(str(source.get(key) or "").strip() for source in (values, environ))

    if any(is_set(key) for key in _ROUTERS):
        return None
    table = {**_DIRECT, **_MINIMAX} if counts_minimax else _DIRECT
    direct = [provider for provider, groups in table.items() if any(all(map(is_set, group)) for group in groups)]
    return direct[0] if len(direct) == 1 else None


def split_names(value: object) -> list[str]:
    """Return the names of a slot: split at commas, stripped, empty ones dropped."""
    return [name for part in str(value or "").split(",") if (name := part.strip())]


def slot_changes(provider: str | None, slots: Mapping[str, Any], normalize: Normalize) -> list[SlotChange]:
    """Return every slot that the runtime would rewrite, in the order of `slots`."""
    names = {slot: split_names(value) for slot, value in slots.items()}
    every = sorted({name for found in names.values() for name in found})
    if provider is None or not every:
        return []
    new = normalize(provider, every)
    return [
        SlotChange(slot, str(slots[slot]), ",".join(new[name] for name in found))
        for slot, found in names.items()
        if any(new[name] != name for name in found)
    ]


def _anthropic(name: str) -> str:
    for prefix in ("anthropic::", "anthropic/"):
        if name.startswith(prefix):
            model = name.removeprefix(prefix).strip()
            return f"anthropic::{model.replace('.', '-') if model in _DASHED else model}"
    return name


def _knows_minimax(version: str | None) -> bool:
    parts = (version or "").split(".")[:2]
    return all(part.isdecimal() for part in parts) and tuple(map(int, parts)) >= (6, 102)
