"""`child/` in the run root: the launcher's side of the file contract, fresh for each invocation."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import make_private_directory, write_text
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.gateway.attestation import OVERRIDE_ENV, override_is_set
from obo_bench.launch.contract import variables

_EARLIER = "earlier"


@dataclass(frozen=True)
class ChildFiles:
    """The places, and the environment that names them."""

    ledger: Path
    """Where the launcher appends its rows."""
    outcome: Path
    """Where it may leave its outcome."""
    log: Path
    """What it prints."""
    contract: dict[str, str]
    """The variables of the contract."""

    def environment(self) -> dict[str, str]:
        """Return the launcher's environment: the operator's, and the contract.

        The override that was understood here is handed on as the one value that every entry point accepts.
        """
        found = variables.child_environment(os.environ, self.contract)
        return found | ({OVERRIDE_ENV: "1"} if override_is_set() else {})


def prepare_child_files(run_root: Path, invocation: str, requested: Sequence[str] | None) -> ChildFiles:
    """Set aside what an earlier invocation left, and return the places; raises OSError."""
    directory = run_root / variables.CHILD_DIRECTORY
    _set_aside(directory)
    make_private_directory(directory)
    contract = {
        variables.MANIFEST: str(run_root / MANIFEST_NAME),
        variables.RUN_ROOT: str(run_root),
        variables.LEDGER: str(directory / variables.LEDGER_FILE),
        variables.OUTCOME_FILE: str(directory / variables.OUTCOME_NAME),
        variables.INVOCATION: invocation,
    }
    if requested is not None:
        ids = directory / variables.TASK_IDS_NAME
        write_text(ids, "".join(f"{name}\n" for name in requested))
        contract[variables.TASK_IDS_FILE] = str(ids)
    return ChildFiles(
        directory / variables.LEDGER_FILE, directory / variables.OUTCOME_NAME, directory / variables.LOG_NAME, contract
    )


def _set_aside(directory: Path) -> None:
    """Keep what is there under `child/earlier/<number>`, whatever it is."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        directory.rename(directory.with_name(f".{directory.name}.foreign.{os.getpid()}"))
        return
    left = [path for path in directory.iterdir() if path.name != _EARLIER] if directory.is_dir() else []
    if not left:
        return
    earlier = directory / _EARLIER
    earlier.mkdir(exist_ok=True)
    place = earlier / str(1 + len(list(earlier.iterdir())))
    place.mkdir()
    for path in left:
        path.rename(place / path.name)
