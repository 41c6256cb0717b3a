"""Find a recorded run, read what it says of itself, and say whether its process still lives."""

import difflib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.lock import RunLock
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.admission.order import ORDER_NAME
from obo_bench.programbench.no_run import holds_only_refusals


@dataclass(frozen=True)
class RecordedRun:
    """A run as its directory tells it."""

    root: Path
    """Its directory."""
    nonce: str
    """Part of its task ids, names and labels; empty when it never got so far."""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Its manifest, empty when that cannot be read."""

    @property
    def url(self) -> str:
        """The server's address, empty when unknown."""
        return str(self._harness.get("ouroboros_url") or "")

    @property
    def settings_path(self) -> Path | None:
        """The server's settings file."""
        path = _mapping(self._harness.get("settings")).get("path")
        return Path(str(path)) if path else None

    @property
    def runtime_version(self) -> str | None:
        """The version of the server that was attested."""
        attestation = _mapping(_mapping(self.manifest.get("extra")).get("runtime_attestation"))
        return str(attestation["runtime_version"]) if attestation.get("runtime_version") else None

    @property
    def engine_id(self) -> str:
        """The id of the Docker daemon that it ran on, empty when unknown."""
        return str(_mapping(self._harness.get("engine")).get("server_id") or "")

    @property
    def _harness(self) -> Mapping[str, Any]:
        return _mapping(self.manifest.get("harness"))

    def original(self) -> Path | None:
        """Return the directory that this one is a copy of, or None: tasks and containers belong to the original."""
        admitted = str(self.manifest.get("run_root") or "")
        if not self.nonce or not admitted or not Path(admitted).is_absolute():
            return None
        elsewhere = Path(admitted).resolve() != self.root.resolve()
        return Path(admitted) if elsewhere and run_nonce(Path(admitted)) == self.nonce else None


def run_nonce(root: Path) -> str:
    """Return the nonce of the run in a directory, empty where there is none."""
    return str((read_json_object(root / ORDER_NAME) or {}).get("run_nonce") or "")


def read_run(root: Path) -> RecordedRun | None:
    """Return the run in a directory, or None when there is none."""
    manifest, order = read_json_object(root / MANIFEST_NAME), read_json_object(root / ORDER_NAME)
    if manifest is None and order is None:
        return None
    return RecordedRun(root.absolute(), run_nonce(root), manifest or {})


def find_run(named: str, runs_root: Path | None) -> RecordedRun:
    """Return the run that an operator named by its directory, or by its id below the runs root.

    Raises PreflightRefused `run_not_found` with near names, also for the copy of a run that still exists.
    """
    places = [Path(named)]
    if runs_root is not None and os.sep not in named:
        places.insert(0, runs_root / BENCHMARK / named)
    for place in places:
        run = read_run(place)
        if run is not None:
            return _not_a_copy(run)
    looked = f" (looked below {str(runs_root / BENCHMARK)!r})" if runs_root else " (no runs root is known)"
    near = difflib.get_close_matches(named, _names(runs_root), n=3, cutoff=0.4)
    raise PreflightRefused(
        "run_not_found",
        f"there is no run {named!r}{looked}{'; did you mean ' + ', '.join(near) + '?' if near else ''}",
        evidence={"run": named, "runs_root": str(runs_root) if runs_root else None, "near": near},
    )


def owner_text(owner: Mapping[str, Any]) -> str:
    """Return who holds a run, in words."""
    return f"process {owner.get('pid', 'unknown')} on {owner.get('host', 'unknown')}"


@contextmanager
def hold_run(run: RecordedRun, command: str) -> Iterator[str]:
    """Keep every other process off a run whose own is dead; gives the id of this invocation.

    Raises PreflightRefused `run_locked` while a process holds it, `run_root_unwritable` when no lock can be taken.
    """
    invocation = f"{command}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    lock = RunLock(run.root, invocation)
    try:
        left_behind = lock.acquire()
    except PreflightRefused as refusal:
        refusal.settle()
        raise _locked(run, _mapping(refusal.evidence.get("owner"))) from refusal
    except OSError as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"the run {str(run.root)!r} cannot be locked: {error.strerror or error}",
            evidence={"run_root": str(run.root), "why": error.strerror or str(error)},
        ) from error
    try:
        yield invocation
    finally:
        # That an earlier invocation died is for the next run to find and to tell.
        lock.release(left_behind)


def _locked(run: RecordedRun, owner: Mapping[str, Any]) -> PreflightRefused:
    return PreflightRefused(
        "run_locked",
        f"the run {str(run.root)!r} is at work: {owner_text(owner)} holds it",
        evidence={"owner": dict(owner)},
        remedy=f"wait for it, or end it with `kill -INT {owner.get('pid', 'PID')}` on that machine (its tasks stay "
        "with the server) and repeat this command",
    )


def _not_a_copy(run: RecordedRun) -> RecordedRun:
    original = run.original()
    if original is None:
        return run
    raise PreflightRefused(
        "run_not_found",
        f"{str(run.root)!r} is a copy: the tasks and containers belong to the run {str(original)!r}",
        evidence={"run": str(run.root), "original": str(original)},
        remedy=f"name the original: {original}",
    )


def _names(runs_root: Path | None) -> list[str]:
    try:
        places = sorted((runs_root / BENCHMARK).iterdir()) if runs_root else []
    except OSError:
        return []
    return [place.name for place in places if not holds_only_refusals(place)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
