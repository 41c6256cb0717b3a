"""What the profile would change in a settings file, told without any secret (wire format)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.redact import is_secret_name, process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.wire_format import WireModel
from obo_bench.gateway.admission.live_settings import credentials
from obo_bench.gateway.admission.settings import parse_settings, read_settings
from obo_bench.programbench.server_profile.json_text import with_members
from obo_bench.programbench.server_profile.profile import load_profile, wanted_settings

_BOM = b"\xef\xbb\xbf"


class SettingChange(WireModel):
    """One setting that differs from the profile."""

    key: str
    """The setting."""
    now: Any = None
    """What the file holds; null where it holds none."""
    present: bool
    """Whether the file holds one."""
    profile: Any
    """What the profile wants."""


class SettingsChange(WireModel):
    """What `programbench settings` found and did."""

    schema_: Literal["obo_bench.settings.v1"] = Field("obo_bench.settings.v1", alias="schema")
    """Format name."""
    path: str
    """The settings file, links resolved."""
    present: bool
    """Whether it existed."""
    changes: list[SettingChange]
    """What differs, in the profile's order; empty when there is nothing to change."""
    keys: dict[str, bool]
    """Keys and passwords by name, and whether the file has them; none is touched."""
    written: bool = False
    """Whether the file was changed."""
    backup: str | None = None
    """The copy of the file as it was; null where none was needed."""


@dataclass(frozen=True)
class Plan:
    """A settings file, and what it would become."""

    path: Path
    """The file, links resolved."""
    before: bytes | None
    """What it holds; None when there is no file."""
    after: bytes
    """What it would hold."""
    change: SettingsChange
    """The difference."""


def plan_change(named: Path, solve_model: str | None, environ: Mapping[str, str] = os.environ) -> Plan:
    """Return what the profile would make of the settings file that the operator named; touches nothing.

    Raises PreflightRefused `settings_unreadable` for a file that cannot be used.
    """
    path, before = _read(named)
    values = {} if before is None else parse_settings(path, before)
    process_redactor().learn(str(value) for name, value in values.items() if is_secret_name(name))
    wanted = wanted_settings(values, environ, solve_model)
    changes = [
        SettingChange(key=name, now=values.get(name), present=name in values, profile=value)
        for name, value in wanted.items()
        if name not in values or not _same(values[name], value)
    ]
    after = _created(wanted) if before is None else _edited(before, {each.key: each.profile for each in changes})
    keys = credentials({**dict.fromkeys(filter(is_secret_name, load_profile()), ""), **values})
    change = SettingsChange(path=str(path), present=before is not None, changes=changes, keys=keys)
    return Plan(path, before, after, change)


def _read(named: Path) -> tuple[Path, bytes | None]:
    try:
        path = named.resolve()
        return path, read_settings(path)
    except FileNotFoundError:
        if not named.is_symlink() and path.parent.is_dir():
            return path, None
        why = "it is a link to nowhere" if named.is_symlink() else f"there is no directory {str(path.parent)!r}"
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise PreflightRefused(
        "settings_unreadable",
        f"the settings file {str(named)!r} cannot be used: {why}",
        evidence={"settings_path": str(named), "why": why},
        remedy="name the server's settings.json, or a place for a new one in a directory that exists",
    )


def _same(now: Any, wanted: Any) -> bool:
    """Compare as JSON does: 1 is not true."""
    return type(now) is type(wanted) and bool(now == wanted)


def _edited(before: bytes, members: Mapping[str, Any]) -> bytes:
    mark = _BOM if before.startswith(_BOM) else b""
    return mark + with_members(before[len(mark) :].decode("utf-8"), members).encode("utf-8", "surrogatepass")


def _created(wanted: Mapping[str, Any]) -> bytes:
    """Return a new file: the profile with its blank keys, so that they need only be filled in."""
    return (with_members("{}", {**load_profile(), **wanted}) + "\n").encode()
