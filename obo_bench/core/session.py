"""The seam: lock, manifest, provenance, gates, body, finalization - for every recorded command.

Nothing else writes a manifest, and no way out of a body leaves it without a typed outcome and the exit status.
"""

import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core import ending, record
from obo_bench.core.ledger import Ledger
from obo_bench.core.lock import RunLock
from obo_bench.core.manifest import MANIFEST_NAME, Outcome, RunManifest
from obo_bench.core.provenance import collect_source
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import UNRECORDED_REASONS, ExitCode, PreflightRefused
from obo_bench.core.roots import check_confined
from obo_bench.core.seed_gate import decide_seed
from obo_bench.core.signals import SignalGuard


@dataclass(frozen=True)
class AdmissionRequest:
    """All that the arguments say; building one touches nothing."""

    benchmark: str
    """The benchmark's name."""
    command: str
    """The recorded command."""
    run_root: Path
    """Where the run is written."""
    repo_dir: Path
    """The checkout the server runs from."""
    argv: Sequence[str] = field(default_factory=lambda: list(sys.argv))
    """The command line."""
    forbidden: Mapping[str, Path] = field(default_factory=dict)
    """Places where the run root may not lie, by what they are."""
    harness: Mapping[str, Any] = field(default_factory=dict)
    """What the arguments already say about the harness."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the arguments already say for the manifest's `extra`."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further top-level manifest fields known from the arguments."""
    allow_dirty_seed: bool = False
    """Waive the waivable reasons of the seed gate."""
    expect: str | None = None
    """Commit prefix or version that the checkout must have."""
    manifest_name: str = MANIFEST_NAME
    """Name of the manifest, relative to the run root."""


class Session:
    """An admitted invocation: its manifest, ledger and lock. The body may checkpoint the manifest, never end it."""

    def __init__(self, request: AdmissionRequest) -> None:
        self.request = request
        self.invocation = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        self.redactor = process_redactor()
        self.ledger = Ledger(request.run_root, self.invocation, self.redactor)
        self.signals = SignalGuard()
        self.left_behind: dict[str, Any] | None = None
        """Owner record of a predecessor that died without recording its end."""
        self._lock = RunLock(request.run_root, self.invocation)
        self._locked = False
        self.outcome: Outcome = "completed"
        self.exit_code: int = ExitCode.OK
        self.manifest = RunManifest(
            benchmark=request.benchmark,
            command=request.command,
            invocation=self.invocation,
            created_at_unix=time.time(),
            run_root=str(request.run_root),
            argv=list(request.argv),
            harness=dict(request.harness),
            **request.fields,
        )
        self.manifest.extra = self.manifest.extra.model_copy(update=dict(request.extra))
        self._store = record.ManifestStore(request.run_root, request.manifest_name, self.invocation)

    @property
    def run_root(self) -> Path:
        """Where the run is written."""
        return self.request.run_root

    def open(self) -> None:
        """Make the run root, take its lock, set an earlier refused manifest aside and write this one durably."""
        check_confined(self.run_root, self.request.forbidden)
        self._store.prepare()
        try:
            self.left_behind = self._lock.acquire()
            self._locked = True
        except PreflightRefused:
            self._store.stay_aside()
            self.checkpoint()
            raise
        self.manifest.extra.invocations = self._store.adopt_earlier()
        self.checkpoint()

    def collect(self) -> None:
        """Collect provenance, write it, and let the seed gate decide; raises the typed refusal."""
        request = self.request
        self.manifest.source, git_said = collect_source(request.repo_dir)
        self.manifest.seed_gate, refusal = decide_seed(
            request.repo_dir,
            self.manifest.source,
            git_said,
            allow_dirty=request.allow_dirty_seed,
            expect=request.expect,
        )
        self.checkpoint()
        if refusal is not None:
            raise refusal

    def checkpoint(self) -> None:
        """Write the manifest as it stands."""
        self._store.write(self.redactor.document(self.manifest.document()))

    def gates_passed(self) -> None:
        """Publish this invocation as the run's manifest: every gate has let it through."""
        self._store.promote()
        self.checkpoint()

    def conclude(self, outcome: Outcome, exit_code: int) -> None:
        """Say how the body ended; published when the seam is left."""
        self.outcome, self.exit_code = outcome, int(exit_code)

    def finish(self, error: BaseException | None) -> None:
        """Record the ending durably and give the run root back."""
        self.signals.hold()
        ending.describe(self, error)
        if error is None:
            self._store.promote()
        self.manifest.extra.finished_at_unix = time.time()
        self.checkpoint()
        ending.publish(self._store.path)
        if self._locked:
            self._lock.release()
            self._locked = False
        self.signals.uninstall()


def admit_benchmark_run(request: AdmissionRequest) -> Session:
    """Open the record of an invocation and let the gates of admission decide.

    Raises BenchmarkAdmissionRefused (or a PreflightRefused such as `run_locked`) with the refusal already on disk;
    only `output_not_confined` and `run_root_unwritable` have no rightful place there.
    """
    session = Session(request)
    session.signals.install()
    try:
        _open(session)
    except PreflightRefused as refusal:
        if refusal.reason not in UNRECORDED_REASONS:
            session.finish(refusal)
        session.signals.uninstall()
        raise
    except BaseException:
        session.signals.uninstall()
        raise
    try:
        session.signals.deliver()
        session.collect()
    except BaseException as error:
        session.finish(error)
        raise
    return session


def _open(session: Session) -> None:
    try:
        session.open()
    except OSError as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"the run root {str(session.run_root)!r} cannot be written: {error.strerror or error}",
            evidence={"run_root": str(session.run_root), "errno": os.strerror(error.errno) if error.errno else ""},
        ) from error


@contextmanager
def finalize_run_manifest(session: Session) -> Iterator[Session]:
    """Run a body; whatever way it ends, the manifest then names a typed outcome and the real exit status."""
    try:
        session.signals.deliver()
        yield session
    except BaseException as error:
        session.finish(error)
        raise
    else:
        session.finish(None)


@contextmanager
def benchmark_session(request: AdmissionRequest) -> Iterator[Session]:
    """The one context manager that every recorded command runs in: admission, then finalization on every way out."""
    with finalize_run_manifest(admit_benchmark_run(request)) as session:
        yield session
