"""Put a changed settings file in the place of the old one: atomically, with its owner and rights, and a copy kept."""

import contextlib
import os
import secrets
import shutil
import time
from pathlib import Path

from obo_bench.core.files import sync_directory, write_bytes
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.admission.settings import read_settings
from obo_bench.programbench.server_profile.change import Plan, SettingsChange


def write_change(plan: Plan) -> SettingsChange:
    """Carry the plan out and return what was done; nothing is touched when there is nothing to change.

    Raises PreflightRefused `settings_changed` when somebody changed the file meanwhile, `output_unwritable` when it
    cannot be written; then the file is as it was, and no copy is left.
    """
    if not plan.change.changes:
        return plan.change
    try:
        backup = None if plan.before is None else _backup(plan.path, plan.before)
        try:
            _replace(plan)
        except BaseException:
            if backup is not None:
                backup.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise PreflightRefused(
            "output_unwritable",
            f"the settings file {str(plan.path)!r} cannot be written: {error.strerror or error}",
            evidence={"settings_path": str(plan.path), "why": error.strerror or str(error)},
            remedy="repeat the command as the owner of the settings file, with a directory that can be written",
        ) from error
    return plan.change.model_copy(update={"written": True, "backup": str(backup) if backup else None})


def _backup(path: Path, content: bytes) -> Path:
    """Write the copy beside the file and return its place; it is as private as the file, from its first moment on."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    place, number = path.with_name(f"{path.name}.{stamp}.bak"), 2
    while os.path.lexists(place):
        place, number = path.with_name(f"{path.name}.{stamp}-{number}.bak"), number + 1
    write_bytes(place, content)
    try:
        _dress(place, path)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return place


def _replace(plan: Plan) -> None:
    staged = plan.path.with_name(f".{plan.path.name}.{secrets.token_hex(8)}.new")
    try:
        write_bytes(staged, plan.after)
        if plan.before is not None:
            _dress(staged, plan.path)
        _check_unchanged(plan)
        staged.replace(plan.path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            staged.unlink()
        raise
    sync_directory(plan.path.parent)


def _dress(new: Path, like: Path) -> None:
    """Give a new file the owner, the mode and the attributes of another one; its times stay its own."""
    wanted, own = like.stat(), new.stat()
    if (wanted.st_uid, wanted.st_gid) != (own.st_uid, own.st_gid):
        os.chown(new, wanted.st_uid, wanted.st_gid)
    shutil.copystat(like, new)
    os.utime(new, ns=(own.st_atime_ns, own.st_mtime_ns))


def _check_unchanged(plan: Plan) -> None:
    try:
        now: bytes | None = read_settings(plan.path)
    except FileNotFoundError:
        now = None
    if now != plan.before:
        raise PreflightRefused(
            "settings_changed",
            f"somebody changed the settings file {str(plan.path)!r} while this command was at work",
            evidence={"settings_path": str(plan.path)},
        )
