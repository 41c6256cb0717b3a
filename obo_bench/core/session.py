"""The seam: lock, manifest, provenance, gates, body, finalization - for every recorded command.

Nothing else writes a manifest, and no way out of a body leaves it without a typed outcome and the exit status.
"""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obo_bench.core import ending, record
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ledger import Ledger
from obo_bench.core.lock import RunLock
from obo_bench.core.manifest import Outcome, RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import (
    UNRECORDED_REASONS,
    ExitCode,
    PreflightRefused,
    forget_refusals,
    unsettled_refusal,
)
from obo_bench.core.roots import check_confined, forbidden_places
from obo_bench.core.seed_gate import examine_seed
from obo_bench.core.signals import SignalGuard


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
        places = forbidden_places(self.request.repo_dir, self.request.settings_path)
        for output in (self.run_root, *self.request.outputs):
            check_confined(output, places)
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
        """Collect provenance, write it, and let the gates of admission decide; raises the typed refusal."""
        report = examine_seed(self.request.repo_dir, self.request.seed)
        self.redactor.learn(report.secrets)
        self.manifest.source, self.manifest.seed_gate = report.source, report.seed_gate
        self.manifest.extra.lineage = report.lineage
        self.checkpoint()
        if report.objection is not None:
            raise report.objection.refusal()

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
    forget_refusals()
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
    """Run a body; whatever way it ends, the manifest then names a typed outcome and the real exit status.

    A refusal that the body swallowed is recorded and raised again, so that it can never look like a success.
    """
    try:
        session.signals.deliver()
        yield session
    except BaseException as error:
        session.finish(error)
        raise
    else:
        swallowed = unsettled_refusal()
        session.finish(swallowed)
        if swallowed is not None:
            raise swallowed


@contextmanager
def benchmark_session(request: AdmissionRequest) -> Iterator[Session]:
    """The one context manager that every recorded command runs in: admission, then finalization on every way out."""
    with finalize_run_manifest(admit_benchmark_run(request)) as session:
        yield session
