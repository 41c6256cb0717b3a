"""What the live server says of its settings: models and bounds in clear, keys only as present or absent.

The answer holds the first characters of real keys, so nothing of it is stored but what this module lets through.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obo_bench.core.redact import is_secret_name
from obo_bench.gateway.admission.model_slots import MODEL_SLOTS
from obo_bench.gateway.errors import GatewayError, GatewayRefused

if TYPE_CHECKING:
    from obo_bench.gateway.admission.settings import SettingsFile
    from obo_bench.gateway.client import GatewayClient

LONGEST_TEXT = 1000
"""Characters of a foreign value that are recorded."""
SOLVE_SETTINGS = (
    "OUROBOROS_PER_TASK_COST_USD",
    "OUROBOROS_MAX_ROUNDS",
    "OUROBOROS_TASK_REVIEW_MODE",
    "OUROBOROS_REVIEW_ENFORCEMENT",
    "OUROBOROS_EFFORT_TASK",
    "OUROBOROS_EFFORT_REVIEW",
    "OUROBOROS_RUNTIME_MODE",
    "OUROBOROS_CONTEXT_MODE",
    "OUROBOROS_SAFETY_MODE",
    "OUROBOROS_TASK_ABS_CEILING_SEC",
    "OUROBOROS_POST_TASK_EVOLUTION",
)
"""What shapes a solve: recorded, and the same in every invocation of a run."""
_SHOWN = ("TOTAL_BUDGET", "OUROBOROS_MAX_WORKERS", *SOLVE_SETTINGS)


@dataclass(frozen=True)
class LiveSettings:
    """The answer to one question for the settings."""

    values: Mapping[str, Any] | None
    """The settings; None when they could not be read."""
    why: str = ""
    """Why not."""
    auth_required: bool = False
    """Whether the server asked for its network password."""


def read_live_settings(client: "GatewayClient") -> LiveSettings:
    """Ask the server once; never raises a refusal."""
    try:
        return LiveSettings(client.settings())
    except GatewayRefused as refused:
        return LiveSettings(None, str(refused), auth_required=refused.status == 401)
    except GatewayError as error:
        return LiveSettings(None, str(error))


def describe_settings(file: "SettingsFile", named: bool, live: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a record says of the settings; `named` tells whether the operator named the file."""
    return {
        "path": str(file.path),
        "present": file.present,
        "named": named,
        "live": None if live is None else shown_settings(live),
        "bind_port": None if live is None else bind_port(live),
    }


def model_slots(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the model names by slot, empty slots left out."""
    return {name: str(values[name])[:LONGEST_TEXT] for name in MODEL_SLOTS if str(values.get(name) or "").strip()}


def credentials(values: Mapping[str, Any]) -> dict[str, bool]:
    """Return which keys exist, never what they are; names that only the operator knows count as keys, too."""
    secret = {name for name, value in values.items() if is_secret_name(name) and isinstance(value, str)}
    return {name: bool(values.get(name)) for name in sorted(secret | custom_secrets(values))}


def custom_secrets(values: Mapping[str, Any]) -> set[str]:
    """Return the settings that the server does not know and therefore masks."""
    names = _meta(values).get("custom_secret_keys")
    return {name[:LONGEST_TEXT] for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def counts_minimax(values: Mapping[str, Any]) -> bool:
    """Say whether the server knows the provider `minimax` (6.102); an older one masks its key as an unknown name."""
    return "MINIMAX_API_KEY" in values and "MINIMAX_API_KEY" not in custom_secrets(values)


def shown_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that bound a run and are safe to show; what is no plain value is left out."""
    return {name: _plain(values[name]) for name in _SHOWN if isinstance(values.get(name), str | int | float)}


def bind_port(values: Mapping[str, Any]) -> int | None:
    """Return the port that the server says it listens on."""
    port = _meta(values).get("bind_port")
    return port if isinstance(port, int) else None


def _meta(values: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = values.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _plain(value: str | float) -> str | float:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
