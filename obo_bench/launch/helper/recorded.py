"""A launcher that stands alone: its run goes through the seam, like every command of this program."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from obo_bench.core import ending
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ending import LONGEST_MESSAGE, refusal_record
from obo_bench.core.ledger import Row
from obo_bench.core.manifest import ErrorRecord
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import PlainReporter
from obo_bench.core.roots import forbidden_places
from obo_bench.core.session import Finalization, Session, admit_benchmark_run, finalize_run_manifest
from obo_bench.core.signals import untorn
from obo_bench.launch.helper import statuses
from obo_bench.launch.helper.asked import Asked
from obo_bench.launch.helper.conclusion import Ending
from obo_bench.launch.helper.outputs import Outputs
from obo_bench.launch.helper.parent import NoLiveParent, stale
from obo_bench.launch.helper.run import BenchmarkRun
from obo_bench.launch.helper.statuses import Ended


class RecordedRun(BenchmarkRun):
    """Writes a manifest and a ledger of its own."""

    def __init__(self, asked: Asked, session: Session) -> None:
        request = session.request
        places = forbidden_places(request.repo_dir, request.settings_path)
        super().__init__(asked, session.run_root, Outputs(session.run_root, places))
        self._session = session

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest as it stands: a copy."""
        return self._session.manifest.document()

    def request(self, task_ids: Sequence[str]) -> None:
        """Say what is asked for; it is in the manifest when this returns."""
        ids = self._ids(task_ids)
        manifest = self._session.manifest
        manifest.requested_task_ids, manifest.requested_count = list(ids), len(ids)
        self._session.checkpoint()

    @property
    def _ledger(self) -> tuple[Path, str]:
        return self._session.ledger.path, self._session.invocation

    def _append(self, row: Row) -> None:
        self._session.ledger.append(row)

    def conclude_with(self, error: BaseException | None) -> Ending:
        """Put into the manifest how the run ends."""
        ended = self._ending(error)
        self._session.conclude(ended.conclusion.outcome, ended.conclusion.exit_code)
        manifest = self._session.manifest
        said = ended.conclusion
        if said.message:
            manifest.harness["message"] = said.message
        if said is self._concluded and said.message and said.exit_code and ended.leaving is None:
            manifest.extra.error = ErrorRecord(type=said.outcome, message=said.message[:LONGEST_MESSAGE])
        if ended.stop is not None:
            record = refusal_record(ended.stop)
            manifest.extra.refusal = record.model_copy(update={"exit_code": int(ExitCode.STOPPED)})
        if (counted := ended.tally) is not None:
            manifest.extra.completed_count, manifest.extra.failed_count = counted.completed, counted.failed
            manifest.extra.skipped_count, manifest.extra.degraded_count = counted.skipped, counted.degraded
            manifest.extra.not_attempted_count = counted.not_attempted
            manifest.extra.cost = {} if counted.cost_usd is None else {"usd": counted.cost_usd, "source": "launcher"}
        return ended


class Recording:
    """The context manager of a launcher that stands alone."""

    def __init__(self, asked: Asked, nobody: NoLiveParent | None = None) -> None:
        """Prepare to record; where variables name a run that does not go on, only the refusal of that is recorded."""
        self._asked = asked
        self._request: AdmissionRequest = asked.admission()
        self._nobody = nobody
        self._process = os.getpid()
        self._run: RecordedRun | None = None
        self._ended: Ending | None = None
        self._finalization: Finalization | None = None

    def __enter__(self) -> BenchmarkRun:
        """Write the manifest, let the gates decide, attest the server; raises the typed refusal, which is on disk."""
        try:
            session = admit_benchmark_run(self._request)
        except BaseException:
            self._note()
            raise
        self._finalization = finalize_run_manifest(session)
        try:
            self._finalization.__enter__()
            return self._admitted(session)
        except BaseException as error:
            if ending.concluded() is None:
                self.__exit__(type(error), error, error.__traceback__)
            raise

    @untorn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record how it ended; raises what outranks `error`: a signal, or a refusal that was swallowed."""
        if os.getpid() != self._process:
            return  # a fork of the launcher ends, not the launcher
        ended = self._run.conclude_with(error) if self._run is not None else None
        self._ended = ended
        broke = ended.broke if ended is not None else error
        try:
            if self._finalization is not None:
                self._finalization.__exit__(type(broke) if broke else None, broke, trace)
        finally:
            self._note()
        if ended is not None and ended.stop is not None and ended.stop is not error:
            raise ended.stop from error

    def _admitted(self, session: Session) -> RecordedRun:
        if self._nobody is not None:
            raise stale(self._nobody) from self._nobody
        admit_server(session, self._asked)
        run = RecordedRun(self._asked, session)
        session.gates_passed()
        self._run = run
        return run

    def _note(self) -> None:
        document, path = ending.concluded(), ending.manifest_path()
        if document is None or path is None:
            return
        ended, extra = self._ended, document["extra"]
        message = ended.conclusion.message if ended is not None and ended.leaving is None else ""
        counts = ended.tally if ended is not None else None
        statuses.note(Ended(int(extra["exit_code"]), extra["outcome"], message, counts, path.parent))


def admit_server(session: Session, asked: Asked) -> None:
    """Let the server's gates decide, as `exec` does; that there is no server is recorded.

    Raises RuntimeAttestationRefused, or PreflightRefused for settings, model slots, readiness, password and model.
    """
    if asked.repo_dir is None:
        session.manifest.extra.runtime_attestation = {"skipped": "no_server"}
        return
    from obo_bench.gateway.admission.declared import declare, enforce, weigh_declared
    from obo_bench.gateway.admission.settings import settings_location

    place, named = settings_location(asked.settings_path, asked.repo_dir, os.environ)
    declared = declare(session, asked.repo_dir, place, named=named, solve_model=asked.solve_model)
    if asked.ouroboros_url is None:
        session.manifest.extra.runtime_attestation = {"skipped": "no_server"}
        enforce(weigh_declared(session, declared))
        return
    from obo_bench.gateway.admission.preflight import WantedServer, open_server

    wanted = WantedServer(asked.ouroboros_url, asked.repo_dir, asked.expected_version)
    open_server(session, wanted, declared, PlainReporter()).client.close()
