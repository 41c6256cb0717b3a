"""A launcher under `obo-bench exec`: rows and outcome go where exec looks for them, and exec alone keeps the record."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from obo_bench.core.ending import text_of
from obo_bench.core.ledger import Row, append_line, row_line
from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusal_watch import RefusalWatch
from obo_bench.core.refusals import PreflightRefused, Refusal, UsageError
from obo_bench.core.roots import forbidden_places
from obo_bench.core.signals import Interrupted, SignalGuard, untorn
from obo_bench.launch.contract.child_outcome import ChildOutcome, ClaimedOutcome, write_child_outcome
from obo_bench.launch.helper import statuses
from obo_bench.launch.helper.asked import Asked, ids_of
from obo_bench.launch.helper.conclusion import Ending
from obo_bench.launch.helper.contradiction import require_admitted, require_same
from obo_bench.launch.helper.outputs import Outputs
from obo_bench.launch.helper.parent import Parent
from obo_bench.launch.helper.run import BenchmarkRun
from obo_bench.launch.helper.statuses import Ended


class WrappedRun(BenchmarkRun):
    """Reports to the `exec` that started it."""

    def __init__(self, asked: Asked, parent: Parent, admitted: RunManifest) -> None:
        checkout = Path(admitted.source.repo_dir) if admitted.source.repo_dir else asked.repo_dir
        places = forbidden_places(checkout, asked.settings_path)
        super().__init__(asked, parent.run_root, Outputs(parent.run_root, places))
        self._parent = parent
        self._admitted = admitted
        self._admitted_ids = None if admitted.requested_task_ids is None else frozenset(admitted.requested_task_ids)
        if asked.requested_task_ids is None and admitted.requested_task_ids is not None:
            self._ids(admitted.requested_task_ids)

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest of `exec` as it stands: a copy."""
        return self._parent.read_manifest().document()

    def request(self, task_ids: Sequence[str]) -> None:
        """Say what the counts of this launcher are held against; what exec was asked for stays in its manifest.

        Raises PreflightRefused `launcher_contradicts_run` for what exec was not asked for: it would not take its rows.
        """
        require_admitted(ids_of(task_ids), self._admitted)
        self._ids(task_ids)

    @property
    def _ledger(self) -> tuple[Path, str]:
        return self._parent.ledger, ""

    def _append(self, row: Row) -> None:
        if self._admitted_ids is not None and row.instance_id not in self._admitted_ids:
            raise UsageError(f"{row.instance_id!r:.200} was not requested of this run: exec would not take its row")
        self._parent.require_live()
        with self._guard:
            append_line(self._parent.ledger, row_line(row, process_redactor()))

    def ending(self, error: BaseException | None) -> Ending:
        """Return how the run ends."""
        return self._ending(error)


class Reporting:
    """The context manager of a launcher under `exec`."""

    def __init__(self, asked: Asked, parent: Parent, admitted: RunManifest) -> None:
        self._asked = asked
        self._parent = parent
        self._admitted = admitted
        self._signals = SignalGuard()
        self._watch = RefusalWatch()
        self._run: WrappedRun | None = None
        self._process = os.getpid()

    def __enter__(self) -> BenchmarkRun:
        """Make sure that the launcher means the run that exec admitted; raises PreflightRefused."""
        self._watch.open()
        self._signals.install()
        try:
            self._signals.deliver()
            require_same(self._asked, self._admitted)
            self._run = WrappedRun(self._asked, self._parent, self._admitted)
            return self._run
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

    @untorn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell exec how it ended; raises what outranks `error`: a signal, or a refusal that was swallowed."""
        if os.getpid() != self._process:
            return  # a fork of the launcher ends, not the launcher
        ended = self._ending(self._interrupted(error))
        try:
            ended = self._told(ended)
        finally:
            statuses.note(self._noted(ended))
            self._watch.close(ended.leaving)
            self._signals.uninstall()
        if ended.leaving is not None and ended.leaving is not error:
            raise ended.leaving from error

    def _noted(self, ended: Ending) -> Ended:
        told = ended.conclusion.message if ended.leaving is None else ""
        return Ended(ended.exit_code, _outcome(ended), told, ended.tally, self._parent.run_root)

    def _interrupted(self, error: BaseException | None) -> BaseException | None:
        if self._signals.arrived is None or isinstance(error, Interrupted):
            return error
        interrupted = Interrupted(self._signals.arrived)
        interrupted.__cause__ = error
        return interrupted

    def _ending(self, cause: BaseException | None) -> Ending:
        """Weigh how it ends, as the seam does: a refusal that was swallowed is no success."""
        ended = self._run.ending(cause) if self._run is not None else Ending.decide(cause, (), None, None)
        unsettled = self._watch.unsettled()
        return ended.broken_by(unsettled[0]) if ended.leaving is None and unsettled else ended

    def _told(self, ended: Ending) -> Ending:
        """Leave the ending where exec looks for it; one that nobody can be told is no success."""
        try:
            self._parent.require_live()
            self._write(claim(ended))
        except PreflightRefused as untold:
            if not isinstance(ended.broke, Interrupted):
                return ended.broken_by(untold)
            untold.settle()
        return ended

    def _write(self, outcome: ChildOutcome) -> None:
        path = self._parent.outcome_file
        try:
            write_child_outcome(path, outcome)
        except OSError as error:
            raise PreflightRefused(
                "run_root_unwritable",
                f"the outcome file {str(path)!r} cannot be written: {error.strerror or error}",
                evidence={"outcome_file": str(path), "why": error.strerror or str(error)},
            ) from error


def claim(ended: Ending) -> ChildOutcome:
    """Return an ending in the words of the contract."""
    counted, leaving = ended.tally, ended.leaving
    return ChildOutcome(
        outcome=_outcome(ended),
        refusal_reason=leaving.reason if isinstance(leaving, Refusal) else None,
        message=ended.conclusion.message if leaving is None else f"{type(leaving).__name__}: {text_of(leaving)}",
        completed_count=counted.completed if counted else None,
        failed_count=counted.failed if counted else None,
        skipped_count=counted.skipped if counted else None,
        not_attempted_count=counted.not_attempted if counted else None,
        degraded_count=counted.degraded if counted else None,
        cost_usd=counted.cost_usd if counted else None,
    )


def _outcome(ended: Ending) -> ClaimedOutcome:
    if isinstance(ended.leaving, Refusal):
        return "refused"
    outcome = ended.conclusion.outcome
    # A run that was stopped for provenance leaves by its refusal.
    return "child_failed" if ended.leaving is not None or outcome == "stopped_provenance" else outcome
