"""The seam: lock, manifest, provenance, gates, body, finalization - for every recorded command.

Nothing else writes a manifest, and no way out of a body leaves it without a typed outcome and the exit status.
"""

import contextlib
import os
import secrets
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from obo_bench.core import ending, invocation, record
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ledger import Ledger
from obo_bench.core.lock import RunLock
from obo_bench.core.manifest import Outcome, RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusal_watch import RefusalWatch
from obo_bench.core.refusals import ExitCode, PreflightRefused, Refusal
from obo_bench.core.roots import check_confined, forbidden_places
from obo_bench.core.seed.gate import examine_seed
from obo_bench.core.signals import Interrupted, SignalGuard, untorn


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
        self._writing = threading.RLock()
        self._recorded = False
        self._finished = False
        self._watch = RefusalWatch()
        self.outcome: Outcome = "completed"
        self.exit_code: int = ExitCode.OK
        self._created_at_unix = time.time()
        self.manifest = self._as_requested()
        self._store = record.ManifestStore(request.run_root, request.manifest_name, self.invocation)

    @property
    def run_root(self) -> Path:
        """Where the run is written."""
        return self.request.run_root

    @property
    def owns_run_root(self) -> bool:
        """Whether the run root is this invocation's: a refused one leaves nothing but its manifest in another's."""
        return self._store.published

    def open(self) -> None:
        """Make the run root, take its lock, set an earlier refused manifest aside and write this one durably.

        Signals are held back from here on. Raises PreflightRefused, of which `output_not_confined` and
        `run_root_unwritable` have no rightful place on disk.
        """
        self._watch.open()
        self.signals.install()
        request = self.request
        places = forbidden_places(request.repo_dir, request.settings_path, request.data_root)
        places |= {**request.inputs, **request.input_files}
        for output in (self.run_root, *request.outputs):
            check_confined(output, places, request.input_files)
        try:
            self._claim()
        except OSError as error:
            raise self._unwritable(error) from error

    def collect(self) -> None:
        """Collect provenance, write it, and let the gates of admission decide; raises the typed refusal."""
        report = examine_seed(self.request.repo_dir, self.request.seed)
        self.redactor.learn(report.secrets)
        self.manifest.source, self.manifest.seed_gate = report.source, report.seed_gate
        self.manifest.extra.lineage = report.lineage
        self.checkpoint()
        if report.objection is not None:
            raise report.objection.refusal()

    def take_checkout(self, repo_dir: Path, settings_path: Path) -> None:
        """Take over what the run's own record names, where the arguments named no checkout.

        Raises as admission does: the run root may not lie in it, and the gates decide.
        """
        self.request = replace(self.request, repo_dir=repo_dir, settings_path=settings_path)
        check_confined(self.run_root, forbidden_places(repo_dir, settings_path))
        self.collect()

    def checkpoint(self) -> None:
        """Write the manifest as it stands; once its ending is recorded, a late worker changes nothing any more."""
        with self._writing:
            if not self._finished:
                self._write()

    def gates_passed(self) -> None:
        """Publish this invocation as the run's manifest: every gate has let it through."""
        self._store.promote()
        self.checkpoint()

    def only_looks(self) -> None:
        """Leave an earlier invocation's manifest the run's, however this one ends: it changes nothing of the run."""
        self._store.keep_earlier()

    def conclude(self, outcome: Outcome, exit_code: int) -> None:
        """Say how the body ended, with a status from 0 to 255; published when the seam is left."""
        if not 0 <= exit_code <= 255:
            raise ValueError(f"{exit_code} is no exit status")
        self.outcome, self.exit_code = outcome, int(exit_code)

    @untorn
    def finish(self, error: BaseException | None) -> BaseException | None:
        """Record the ending durably and give the run root back; returns what it rests on, if not a plain return.

        That is `error`, or what outranks it: a signal that the body swallowed, or a refusal that it swallowed before
        it claimed success. Raises PreflightRefused `run_root_unwritable` when the record cannot be written.
        """
        unsettled = self._watch.unsettled()
        cause = self._cause(error, unsettled)
        trouble: OSError | None = None
        try:
            if self._recorded:
                cause = self._record(cause, unsettled)
        except OSError as unwritten:
            trouble = unwritten
            ending.reset()
        finally:
            self._give_back(cause)
        if trouble is not None and not isinstance(cause, Interrupted):
            raise self._unwritable(trouble) from trouble
        return cause

    def _as_requested(self) -> RunManifest:
        request = self.request
        manifest = RunManifest(
            benchmark=request.benchmark,
            command=request.command,
            invocation=self.invocation,
            created_at_unix=self._created_at_unix,
            run_root=str(request.run_root),
            argv=list(request.argv),
            harness=_harness(request),
            **request.fields,
        )
        manifest.extra = manifest.extra.model_copy(update=dict(request.extra))
        return manifest

    def _claim(self) -> None:
        self._store.prepare()
        try:
            self.left_behind = self._lock.acquire()
        except PreflightRefused:
            self._store.stay_aside()
            self.checkpoint()
            raise
        self.manifest.extra.invocations = self._store.adopt_earlier()
        self.checkpoint()

    def _write(self) -> dict[str, Any]:
        document: dict[str, Any] = self.redactor.document(self.manifest.document())
        self._store.write(document)
        self._recorded = True
        return document

    def _cause(self, error: BaseException | None, unsettled: list[Refusal]) -> BaseException | None:
        if self.signals.arrived is not None and not isinstance(error, Interrupted):
            interrupted = Interrupted(self.signals.arrived)
            interrupted.__cause__ = error
            return interrupted
        claims_success = error is None or ending.says_success(error)
        return unsettled[0] if claims_success and unsettled else error

    def _record(self, cause: BaseException | None, unsettled: list[Refusal]) -> BaseException | None:
        try:
            self._conclude(cause, unsettled)
        except (ValueError, TypeError, RecursionError) as trouble:
            # The body left something in the manifest that cannot be written: without it the ending still can.
            self.manifest = self._as_requested()
            cause = cause or trouble
            if isinstance(cause, Refusal):
                cause.evidence.clear()
            self._conclude(cause, [])
        return cause

    def _conclude(self, cause: BaseException | None, unsettled: list[Refusal]) -> None:
        ending.describe(self, cause, unsettled)
        with self._writing:
            if cause is None or ending.says_success(cause):
                self._store.promote()
            self.manifest.extra.finished_at_unix = time.time()
            document = self._write()
            self._finished = True
        ending.publish(self._store.path, document)

    def _give_back(self, cause: BaseException | None) -> None:
        # What was recorded stays true when the owner's note cannot be removed: the next invocation tells of it.
        with contextlib.suppress(OSError):
            self._lock.release()
        self._watch.close(cause)
        self.signals.uninstall()

    def _unwritable(self, error: OSError) -> PreflightRefused:
        return PreflightRefused(
            "run_root_unwritable",
            f"the run root {str(self.run_root)!r} cannot be written: {error.strerror or error}",
            evidence={"run_root": str(self.run_root), "errno": os.strerror(error.errno) if error.errno else ""},
        )


def _harness(request: AdmissionRequest) -> dict[str, Any]:
    return {**request.harness, "origins": dict(request.origins)} if request.origins else dict(request.harness)


class Finalization:
    """Runs a body; whatever way it ends, the manifest then names a typed outcome and the real exit status.

    A refusal or a signal that the body swallowed is recorded and raised again: neither can look like a success.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        """Let signals through; one that came in the meantime ends the invocation here."""
        try:
            self._session.signals.deliver()
        except Interrupted as error:
            self._session.finish(error)
            raise
        return self._session

    @untorn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the ending."""
        cause = self._session.finish(error)
        if cause is not None and cause is not error:
            raise cause from error


class _Admission(Finalization):
    """Records an ending only where admission fails."""

    def __enter__(self) -> Session:
        return self._session

    @untorn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and ending.says_success(error):
            nothing_done = AssertionError("the admission was left with status 0: no gate has decided, nothing was done")
            nothing_done.__cause__ = error
            self._session.finish(nothing_done)
            raise nothing_done
        if error is not None:
            super().__exit__(kind, error, trace)


def admit_benchmark_run(request: AdmissionRequest) -> Session:
    """Open the record of an invocation and let the gates of admission decide.

    Raises BenchmarkAdmissionRefused (or a PreflightRefused such as `run_locked`) with the refusal already on disk;
    only `output_not_confined` and `run_root_unwritable` have no rightful place there. Ending signals are held back
    until the session is handed to `finalize_run_manifest`. Raises Explained, with nothing touched, where the operator
    only asked what would be admitted.
    """
    ending.reset()
    invocation.explain_instead(request)
    with _Admission(Session(request)) as session:
        session.open()
        session.signals.deliver()
        session.collect()
        session.signals.hold()
    return session


def finalize_run_manifest(session: Session) -> Finalization:
    """Return the context manager that runs a body and records its ending."""
    return Finalization(session)


def benchmark_session(request: AdmissionRequest) -> Finalization:
    """Admit, and return the one context manager that every recorded command runs in."""
    return finalize_run_manifest(admit_benchmark_run(request))
