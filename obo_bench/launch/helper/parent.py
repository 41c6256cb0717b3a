"""The `obo-bench exec` around a launcher: who it says it is, and whether that is still true.

Variables outlive what they name: in a shell that was left open, in a job of a queue, in a process that nobody ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.lock import living_owner
from obo_bench.core.manifest import RunManifest
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.launch.contract import variables

_TOGETHER = (variables.MANIFEST, variables.LEDGER, variables.OUTCOME_FILE, variables.RUN_ROOT, variables.INVOCATION)
"""`exec` sets all of these or none."""


class NoLiveParent(Exception):
    """The variables do not belong to a run that goes on; the text says why."""

    def __init__(self, named: Mapping[str, str], why: str) -> None:
        super().__init__(why)
        self.named = named
        """The variables as they were found."""


@dataclass(frozen=True)
class Parent:
    """The run that the variables name."""

    run_root: Path
    """Its directory."""
    invocation: str
    """The invocation of `exec` that started the launcher."""
    named: Mapping[str, str]
    """The variables as they were found."""

    @property
    def ledger(self) -> Path:
        """Where the launcher's rows go."""
        return self.run_root / variables.CHILD_DIRECTORY / variables.LEDGER_FILE

    @property
    def outcome_file(self) -> Path:
        """Where the launcher's outcome goes."""
        return self.run_root / variables.CHILD_DIRECTORY / variables.OUTCOME_NAME

    def read_manifest(self) -> RunManifest:
        """Return the run's manifest as it stands; raises UnreadableDocument."""
        return read_document(RunManifest, self.run_root / MANIFEST_NAME)

    def check_live(self) -> None:
        """Raise NoLiveParent unless the invocation that started the launcher still holds the run root."""
        try:
            owner = living_owner(self.run_root)
        except OSError as error:
            raise NoLiveParent(
                self.named, f"it cannot be told whether it goes on: {error.strerror or error}"
            ) from error
        if owner is None:
            raise NoLiveParent(self.named, "no process works on that run any more")
        if owner.get("invocation") != self.invocation:
            raise NoLiveParent(
                self.named, f"another invocation works on that run by now: {owner.get('invocation')!r:.100}"
            )

    def require_live(self) -> None:
        """Raise PreflightRefused `launcher_contract_stale` unless it is as `check_live` wants it."""
        try:
            self.check_live()
        except NoLiveParent as nobody:
            raise stale(nobody) from nobody


def named_in(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables of the contract that are set; touches nothing."""
    return {name: environ[name] for name in _TOGETHER if environ.get(name)}


def live_parent(named: Mapping[str, str]) -> tuple[Parent, RunManifest]:
    """Return the run that the variables name and its manifest; raises NoLiveParent."""
    if missing := [name for name in _TOGETHER if name not in named]:
        raise NoLiveParent(named, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set with them")
    parent = Parent(Path(named[variables.RUN_ROOT]), named[variables.INVOCATION], dict(named))
    expected = {
        variables.MANIFEST: parent.run_root / MANIFEST_NAME,
        variables.LEDGER: parent.ledger,
        variables.OUTCOME_FILE: parent.outcome_file,
    }
    if apart := [name for name, path in expected.items() if named[name] != str(path)]:
        raise NoLiveParent(named, f"{apart[0]} does not lie where it must in {variables.RUN_ROOT}")
    parent.check_live()
    try:
        return parent, parent.read_manifest()
    except UnreadableDocument as error:
        raise NoLiveParent(named, str(error)) from error


def stale(nobody: NoLiveParent) -> PreflightRefused:
    """Return the refusal for variables that belong to no run that goes on."""
    named, why = nobody.named, str(nobody)
    place = named.get(variables.RUN_ROOT) or named.get(variables.MANIFEST) or ", ".join(named)
    return PreflightRefused(
        "launcher_contract_stale",
        f"the environment says that this launcher belongs to the run {place!r}, but it does not: {why}",
        evidence={"variables": dict(named), "why": why},
    )
