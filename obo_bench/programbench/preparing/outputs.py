"""The files beside the run that an operator can ask for: another ledger, and a copy of the manifest.

Neither may replace anything of a run. A name that means the run's own file is fine: that gets the content anyway.
"""

import os
import stat
from pathlib import Path
from typing import Any

from obo_bench.core import ending
from obo_bench.core.files import PRIVATE_FILE, json_bytes, read_json_object, write_bytes
from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.session import Session
from obo_bench.core.why import why
from obo_bench.programbench.preparing.options import COMMAND, PrepareOptions

_HISTORY = "manifests"
"""Directory that the seam makes beside every manifest."""


def open_ledger_output(options: PrepareOptions) -> Path | None:
    """Return the ledger of --ledger-output once it is known to take lines; None where the run's own ones will do.

    Raises PreflightRefused `output_unwritable`.
    """
    if options.ledger_output is None:
        return None
    target = options.ledger_output.resolve()
    if target in {(place / LEDGER_NAME).resolve() for place in (options.run, options.run_root)}:
        return None
    try:
        _check(target, options, forbidden_name=MANIFEST_NAME)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        os.close(os.open(target, flags, PRIVATE_FILE))
    except OSError as error:
        raise _unwritable("--ledger-output", options.ledger_output, error) from error
    return target


def open_manifest_output(session: Session, options: PrepareOptions) -> None:
    """Write the manifest as it stands to --manifest-output, so that it is known early whether that can be done.

    Raises PreflightRefused `output_unwritable`.
    """
    target = _manifest_copy(options)
    if target is None or options.manifest_output is None:
        return
    try:
        _check(target, options, forbidden_name=LEDGER_NAME)
        _write(target, session.redactor.document(session.manifest.document()))
    except OSError as error:
        raise _unwritable("--manifest-output", options.manifest_output, error) from error


def copy_manifest(options: PrepareOptions, reporter: Reporter) -> None:
    """Write the concluded manifest to --manifest-output, where it has become the one of the instance.

    A refusal that left an earlier manifest in its place leaves the copy as well. It is too late to change how the
    invocation ends: what stands against it is only told.
    """
    document = ending.concluded()
    if document is None:
        return
    target, path = _manifest_copy(options), ending.manifest_path()
    if target is None or path is None or path.parent.name == _HISTORY:
        return
    try:
        _check(target, options, forbidden_name=LEDGER_NAME)
        _write(target, document)
    except OSError as error:
        reporter.event(f"--manifest-output {str(options.manifest_output)!r} was not written: {why(error)}")


def _manifest_copy(options: PrepareOptions) -> Path | None:
    if options.manifest_output is None:
        return None
    target = options.manifest_output.resolve()
    return None if target == (options.run_root / MANIFEST_NAME).resolve() else target


def _write(target: Path, document: dict[str, Any]) -> None:
    # A file that the operator named is his to share: his umask decides.
    write_bytes(target, json_bytes(document), mode=0o666)


def _check(target: Path, options: PrepareOptions, *, forbidden_name: str) -> None:
    if target.is_relative_to(options.run.resolve()) or any(_is_run(place) for place in target.parents):
        raise OSError("it lies in a run, where nothing but the run's own files may be")
    if target.is_relative_to(options.workspace.resolve()):
        raise OSError("it lies in the workspace, and would be handed in with the submission")
    if target.name == forbidden_name:
        raise OSError("the name is that of another file of a run")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise OSError("it is not a regular file")
    if target.exists() and _is_foreign_manifest(target):
        raise OSError("it is the manifest of another command")


def _is_run(place: Path) -> bool:
    """A directory with nothing but a copy that --manifest-output made is none."""
    manifest = place / MANIFEST_NAME
    return (place / _HISTORY).is_dir() or (manifest.exists() and not _is_copy(manifest))


def _is_copy(path: Path) -> bool:
    return path.is_file() and (read_json_object(path) or {}).get("command") == COMMAND


def _is_foreign_manifest(path: Path) -> bool:
    found = read_json_object(path) or {}
    return str(found.get("schema", "")).startswith("ouroboros.benchmark.run_manifest") and not _is_copy(path)


def _unwritable(flag: str, output: Path, error: OSError) -> PreflightRefused:
    why = error.strerror or str(error)
    return PreflightRefused(
        "output_unwritable",
        f"{flag} {str(output)!r} cannot be written: {why}",
        evidence={"output": str(output), "why": why},
    )
