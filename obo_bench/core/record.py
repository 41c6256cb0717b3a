"""Where an invocation's manifest is kept, so that a live or finished one is never overwritten by a refusal."""

from pathlib import Path
from typing import Any

from obo_bench.core.files import make_private_directory, read_json_object, sync_directory, write_bytes, write_json


class ManifestStore:
    """The manifest file of one invocation.

    On a fresh run root it is the run's manifest at once. Where an earlier invocation was admitted, this one is
    written under `manifests/` until its own gates have passed; only then the earlier one is set aside.
    """

    def __init__(self, run_root: Path, name: str, invocation: str) -> None:
        self._final = run_root / name
        self._aside = self._final.parent / "manifests"
        self._own = self._aside / f"{invocation}.json"
        self.path = self._final
        """Where this invocation's manifest is at present."""
        self._stays_aside = False

    @property
    def published(self) -> bool:
        """Whether this invocation's manifest is the run's."""
        return self.path == self._final

    def prepare(self) -> None:
        """Make the directories, for the operator alone; raises OSError when that is not allowed."""
        make_private_directory(self._final.parent)
        self._aside.mkdir(exist_ok=True)

    def stay_aside(self) -> None:
        """Use the invocation's own file: the run root belongs to another process."""
        self.path = self._own

    def adopt_earlier(self) -> list[dict[str, Any]]:
        """Look at the earlier manifest: keep it in place if it was admitted, else set it aside.

        Returns the history of invocations on this run root, oldest first.
        """
        if not self._final.exists():
            return []
        earlier = read_json_object(self._final) or {}
        extra = earlier.get("extra") or {}
        history = [*(extra.get("invocations") or []), _summary(earlier)]
        if extra.get("outcome") == "refused":
            self._set_aside(earlier)
        else:
            self.path = self._own
        return history

    def keep_earlier(self) -> None:
        """Never replace an earlier manifest that was admitted: this invocation's stays in its own file."""
        self._stays_aside = True

    def promote(self) -> None:
        """Make this invocation's manifest the run's, with the earlier one set aside."""
        if self.published or self._stays_aside:
            return
        if self._final.exists():
            self._set_aside(read_json_object(self._final) or {})
        self._own.replace(self._final)
        sync_directory(self._final.parent)
        self.path = self._final

    def write(self, document: dict[str, Any]) -> None:
        """Write the manifest durably."""
        write_json(self.path, document)

    def _set_aside(self, earlier: dict[str, Any]) -> None:
        number = len(list(self._aside.iterdir()))
        name = str(earlier.get("invocation") or f"unreadable-{number}")
        write_bytes(self._aside / f"{Path(name).name}.json", self._final.read_bytes())


def _summary(manifest: dict[str, Any]) -> dict[str, Any]:
    extra = manifest.get("extra") or {}
    outcome = extra.get("outcome", "unreadable")
    return {
        "invocation": manifest.get("invocation"),
        "created_at_unix": manifest.get("created_at_unix"),
        "outcome": outcome,
        "exit_code": extra.get("exit_code"),
        "died_unrecorded": outcome == "started",
    }
