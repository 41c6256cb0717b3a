"""What the operator declared - settings file, model slots, solve model - held against the rules and the live server.

Everything found is recorded in the session's manifest; objections are returned, so that a caller may report them only.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import Objection
from obo_bench.core.session import Session
from obo_bench.gateway.admission.live_settings import credentials, custom_secrets, describe_settings, model_slots
from obo_bench.gateway.admission.model_slots import MODEL_SLOT
from obo_bench.gateway.admission.runtime_migration import ModelNames
from obo_bench.gateway.admission.settings import SettingsFile, load_settings
from obo_bench.gateway.admission.solve_model import SlotReport, declared_objection, examine_slots, live_objection


@dataclass(frozen=True)
class Declared:
    """What the operator declared."""

    settings: SettingsFile
    """The settings file."""
    named: bool
    """Whether the operator named it."""
    flag: str | None
    """The model of --solve-model."""
    names: ModelNames
    """The rules that model names are held against."""

    @property
    def model(self) -> str | None:
        """The declared model: the flag's, else the file's."""
        return (self.flag or "").strip() or self.settings.text(MODEL_SLOT)


def declare(session: Session, repo_dir: Path, settings_path: Path, *, named: bool, solve_model: str | None) -> Declared:
    """Read the settings file and learn its secrets; raises PreflightRefused `settings_unreadable`."""
    settings = load_settings(settings_path, named=named)
    session.redactor.learn(settings.secrets())
    manifest = session.manifest
    manifest.harness["settings"] = describe_settings(settings, named, None)
    manifest.model_slots, manifest.provider_credentials = model_slots(settings.values), credentials(settings.values)
    return Declared(settings, named, solve_model, ModelNames(repo_dir, manifest.source.version))


def weigh_declared(session: Session, declared: Declared) -> Objection | None:
    """Return what is held against the file's model slots and the flag, before the server is asked anything."""
    settings = declared.settings
    where = f"the settings file {str(settings.path)!r}" if settings.present else "the declared model"
    report = examine_slots(where, settings.values, os.environ, declared.names.normalize, declared.flag)
    _record_slots(session, report, declared.names)
    return report.objection() or declared_objection(declared.flag, settings)


def record_live(session: Session, declared: Declared, live: Mapping[str, Any]) -> None:
    """Record what the live server says of itself: models and bounds in clear, keys as present or absent."""
    session.redactor.learn(declared.settings.secrets(custom_secrets(live)))
    manifest = session.manifest
    manifest.model_slots, manifest.provider_credentials = model_slots(live), credentials(live)
    manifest.harness["settings"] = describe_settings(declared.settings, declared.named, live)
    manifest.harness["solve_model"] = declared.model or model_slots(live).get(MODEL_SLOT)


def weigh_live(session: Session, declared: Declared, live: Mapping[str, Any]) -> Objection | None:
    """Return what is held against the live model slots, and the live model against the declared one."""
    # The live answer already holds what the server's own environment lends.
    report = examine_slots("the live server's settings", live, {}, declared.names.normalize)
    _record_slots(session, report, declared.names)
    return report.objection() or live_objection(declared.model, live, declared.names.normalize)


def enforce(objection: Objection | None) -> None:
    """Raise the refusal of an objection."""
    if objection is not None:
        raise objection.refusal()


def _record_slots(session: Session, report: SlotReport, names: ModelNames) -> None:
    session.manifest.harness |= {
        "direct_provider": report.provider,
        "model_slots_normalized": report.normalized,
        "model_slots_checked_with": names.checked_with.document(),
    }
