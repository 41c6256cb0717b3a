"""The server's settings: the file on disk and what the live server shows, checked before anything is spent."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.redact import is_secret_name
from obo_bench.core.refusals import PreflightRefused

MODEL_SLOT = "OUROBOROS_MODEL"
_SLOT_NAMES = (
    "OUROBOROS_MODEL",
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
_SHOWN = (
    "TOTAL_BUDGET",
    "OUROBOROS_MAX_WORKERS",
    "OUROBOROS_MAX_ROUNDS",
    "OUROBOROS_TASK_REVIEW_MODE",
    "OUROBOROS_REVIEW_ENFORCEMENT",
    "OUROBOROS_RUNTIME_MODE",
    "OUROBOROS_CONTEXT_MODE",
    "OUROBOROS_SAFETY_MODE",
    "OUROBOROS_TASK_ABS_CEILING_SEC",
)


@dataclass(frozen=True)
class SettingsFile:
    """The settings file as it was found."""

    path: Path
    """Where it was looked for."""
    present: bool
    """Whether it exists."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its content."""

    def secrets(self) -> list[str]:
        """Return the values that must never be written."""
        return [value for name, value in self.values.items() if is_secret_name(name) and isinstance(value, str)]


def settings_location(explicit: Path | None, repo_dir: Path, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """Return where the settings are, and whether the operator named the place; touches nothing."""
    if explicit is not None:
        return explicit.absolute(), True
    if environ.get("OUROBOROS_SETTINGS_PATH"):
        return Path(environ["OUROBOROS_SETTINGS_PATH"]).absolute(), True
    if environ.get("OUROBOROS_DATA_DIR"):
        return Path(environ["OUROBOROS_DATA_DIR"]).absolute() / "settings.json", False
    return repo_dir.absolute().parent / "data" / "settings.json", False


def load_settings(path: Path, *, named: bool) -> SettingsFile:
    """Read the settings strictly (a BOM is accepted).

    Raises PreflightRefused `settings_unreadable` with line and column; a missing file is refused only when named.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if not named:
            return SettingsFile(path, present=False)
        raise _unreadable(path, "it does not exist") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "column": error.colno}
        raise _unreadable(path, f"line {error.lineno}, column {error.colno}: {error.msg}", **where) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(value, dict):
        raise _unreadable(path, f"line 1, column 1: a JSON object is needed, this is {type(value).__name__}")
    return SettingsFile(path, present=True, values=value)


def model_slots(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the model names by slot, empty slots left out."""
    return {name: str(values[name]) for name in _SLOT_NAMES if values.get(name)}


def credentials(values: Mapping[str, Any]) -> dict[str, bool]:
    """Return which keys exist, never what they are."""
    return {name: bool(value) for name, value in sorted(values.items()) if is_secret_name(name)}


def shown_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that bound a run and are safe to show."""
    return {name: values[name] for name in _SHOWN if name in values}


def check_solve_model(solve_model: str | None, settings: SettingsFile, live: Mapping[str, Any] | None) -> str | None:
    """Return the model that will solve; raises PreflightRefused when file, flag and live server do not agree."""
    in_file = str(settings.values.get(MODEL_SLOT) or "") or None
    declared = solve_model or in_file
    if solve_model and in_file and solve_model != in_file:
        raise PreflightRefused(
            "solve_model_mismatch",
            f"--solve-model {solve_model!r} is not the {MODEL_SLOT} of {str(settings.path)!r}, which is {in_file!r}",
            evidence={"declared": solve_model, "settings": in_file, "settings_path": str(settings.path)},
        )
    if live is None:
        return declared
    running = str(live.get(MODEL_SLOT) or "") or None
    if declared and running != declared:
        raise PreflightRefused(
            "target_settings_mismatch",
            f"the live server solves with {running!r}, declared is {declared!r}",
            evidence={"declared": declared, "live": running},
        )
    return declared or running


def _unreadable(path: Path, why: str, **where: int) -> PreflightRefused:
    return PreflightRefused(
        "settings_unreadable",
        f"the settings file {str(path)!r} cannot be used: {why}",
        evidence={"settings_path": str(path), "why": why, **where},
    )
