"""Where a run lives: run ids, run roots, and the places where an output may never land."""

import os
import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused, UsageError

MANIFEST_NAME = "run_manifest.json"
"""Name of the manifest in the root of a run."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def new_run_id() -> str:
    """Return a run id that sorts by time and does not repeat."""
    import secrets

    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def check_run_id(run_id: str, flag: str = "--run-id") -> str:
    """Return `run_id`, or raise UsageError that names the option when it is not one plain path component."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(
            f"{flag} {run_id!r} is not a run id: it names one directory, so use letters, digits, '.', '_' and '-' "
            "(at most 100, starting with a letter or digit)"
        )
    return run_id


def runs_root(explicit: Path | None, repo_dir: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory that holds all runs: flag, OUROBOROS_BENCH_RUNS_ROOT, else beside the checkout."""
    if explicit is not None:
        return explicit.absolute()
    named = environ.get("OUROBOROS_BENCH_RUNS_ROOT")
    return Path(named).absolute() if named else repo_dir.absolute().parent / "bench_runs"


def without_dots(path: Path) -> Path:
    """Return a path from the root on, to be shown: links are followed only where a `..` would else mislead."""
    return Path(os.path.realpath(path)) if ".." in path.parts else path.absolute()


def forbidden_places(
    repo_dir: Path | None,
    settings_path: Path | None,
    data_root: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Path]:
    """Return the places that belong to the server (design I4), by what they are."""
    places: dict[str, Path] = {}
    if repo_dir is not None:
        places["the checkout"] = repo_dir
        places["the workspace's data directory"] = repo_dir.absolute().parent / "data"
    if environ.get("OUROBOROS_DATA_DIR"):
        places["OUROBOROS_DATA_DIR"] = Path(environ["OUROBOROS_DATA_DIR"])
    if settings_path is not None:
        places["the settings file's directory"] = settings_path.absolute().parent
    if data_root is not None:
        places["the isolated data root"] = data_root
    return places


def check_confined(output: Path, places: Mapping[str, Path], files: Collection[str] = ()) -> None:
    """Raise PreflightRefused `output_not_confined` when `output`, links resolved, lies in one of `places` or is one.

    Those named in `files` are files: what lies in one that is wrongly a directory is no output of theirs.
    """
    resolved = output.resolve()
    for name, place in places.items():
        forbidden = place.resolve()
        if resolved == forbidden or (name not in files and resolved.is_relative_to(forbidden)):
            raise PreflightRefused(
                "output_not_confined",
                f"the output {str(output)!r} would land in {name} ({str(place)!r}), which a run must never change",
                evidence={"output": str(resolved), "place": name, "directory": str(forbidden)},
            )
