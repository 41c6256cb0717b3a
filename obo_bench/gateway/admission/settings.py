"""The server's settings file: where it is, and its content, read strictly and without ever waiting for it."""

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from obo_bench.core.redact import is_secret_name
from obo_bench.core.refusals import PreflightRefused

LARGEST_FILE = 4 * 1024 * 1024
"""Bytes; real settings have some kilobytes."""
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity')


@dataclass(frozen=True)
class SettingsFile:
    """The settings file as it was found."""

    path: Path
    """Where it was looked for."""
    present: bool
    """Whether it exists."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its content."""

    def secrets(self, further: Iterable[str] = ()) -> list[str]:
        """Return the values that must never be written: those named like secrets, and those of `further` names."""
        names = {name for name in self.values if is_secret_name(name)} | (set(further) & set(self.values))
        return [value for name in sorted(names) if isinstance(value := self.values[name], str)]

    def text(self, name: str) -> str | None:
        """Return a setting as text without outer blanks; None when it is missing or blank."""
        return str(self.values.get(name) or "").strip() or None


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
    """Read the settings strictly (a BOM is accepted; of equal keys the last one counts, as in any JSON reader).

    Raises PreflightRefused `settings_unreadable` with line and column; a missing file is refused only when named.
    """
    try:
        raw = read_settings(path)
    except FileNotFoundError:
        if not named:
            return SettingsFile(path, present=False)
        raise _unreadable(path, "it does not exist") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return SettingsFile(path, present=True, values=parse_settings(path, raw))


def read_settings(path: Path) -> bytes:
    """Return the bytes of a settings file; never waits. Raises OSError, also for what is no such file."""
    # Opened without waiting: a FIFO without a writer would hold the run for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else _close(descriptor) as stream:
        raw = stream.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise OSError(f"it has more than {LARGEST_FILE} bytes")
    return raw


def _close(descriptor: int) -> NoReturn:
    os.close(descriptor)
    raise OSError("it is not a regular file")


def parse_settings(path: Path, raw: bytes) -> dict[str, Any]:
    """Return what `raw`, read from `path`, says; raises PreflightRefused `settings_unreadable` with line and column."""
    try:
        text = raw.decode("utf-8-sig")
        value = json.loads(text, parse_constant=lambda constant: _refuse_constant(constant, text))
    except UnicodeDecodeError as error:
        line, column = _position(raw, error.start)
        raise _malformed(path, line, column, f"not UTF-8: {error.reason}") from error
    except json.JSONDecodeError as error:
        raise _malformed(path, error.lineno, error.colno, error.msg) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(value, dict):
        raise _malformed(path, 1, 1, f"a JSON object is needed, this is {type(value).__name__}")
    return value


def _refuse_constant(constant: str, text: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python would read though JSON has none, where they stand."""
    found = (match for match in _STRING_OR_CONSTANT.finditer(text) if not match.group().startswith('"'))
    raise json.JSONDecodeError(f"{constant} is no JSON value", text, next(found).start())


def _position(raw: bytes, offset: int) -> tuple[int, int]:
    return raw.count(b"\n", 0, offset) + 1, offset - raw.rfind(b"\n", 0, offset)


def _malformed(path: Path, line: int, column: int, why: str) -> PreflightRefused:
    return _unreadable(path, f"line {line}, column {column}: {why}", line=line, column=column)


def _unreadable(path: Path, why: str, **where: int) -> PreflightRefused:
    return PreflightRefused(
        "settings_unreadable",
        f"the settings file {str(path)!r} cannot be used: {why}",
        evidence={"settings_path": str(path), "why": why, **where},
    )
