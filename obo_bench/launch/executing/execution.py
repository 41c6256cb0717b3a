"""One admitted invocation of `exec`: the gates, the launcher started and watched, its end recorded."""

import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.manifest import Outcome
from obo_bench.core.redact import process_redactor
from obo_bench.core.reporter import Reporter
from obo_bench.core.row_counts import counts_of
from obo_bench.core.session import Session
from obo_bench.core.signals import Interrupted, untorn
from obo_bench.launch.child.output_log import OutputLog
from obo_bench.launch.child.pump import Pump
from obo_bench.launch.child.screen import Screen
from obo_bench.launch.child.supervised import ChildEnd, NotStarted, SupervisedChild
from obo_bench.launch.contract.child_rows import ChildRows
from obo_bench.launch.executing import recording
from obo_bench.launch.executing.child_files import ChildFiles, prepare_child_files
from obo_bench.launch.executing.collecting import Collector
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.executing.explaining import remedy, why_it_ended
from obo_bench.launch.executing.gates import AdmittedLaunch, pass_gates
from obo_bench.launch.executing.manifest_guard import ManifestGuard
from obo_bench.launch.executing.options import ExecOptions
from obo_bench.launch.executing.server_watch import ServerWatch
from obo_bench.launch.executing.startable import not_started
from obo_bench.launch.executing.stop import Stop, fatal
from obo_bench.launch.executing.verdict import verdict
from obo_bench.launch.executing.watch import Watch
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.problems import Problems
from obo_bench.launch.presets.registry import preset as preset_named

_STDERR = 2


@dataclass(frozen=True)
class ExecResult:
    """What the operator gets."""

    run_root: Path
    """The run."""
    outcome: Outcome
    """How it ended."""
    child_exit_code: int
    """The launcher's own status."""
    counts: dict[str, int] | None
    """Instances by what became of them; None where there are no rows."""
    problems: tuple[str, ...]
    """What was found wrong with what the launcher left."""
    why: str
    """Why it ended so, in one line."""
    remedy: str
    """What can be done about it; empty where nothing more exact is known."""
    stop: Stop | None
    """Why it was stopped; None where it ended by itself."""


class Execution:
    """One invocation after its admission."""

    def __init__(self, session: Session, options: ExecOptions, reporter: Reporter) -> None:
        self._session = session
        self._options = options
        self._reporter = reporter
        self._preset = preset_named(options.preset) if options.preset is not None else None
        self._problems = Problems()
        self._guard = ManifestGuard(session, self._problems.tell)

    def run(self) -> ExecResult:
        """Pass the gates, start the launcher, and record how it ended."""
        admitted = pass_gates(self._session, self._options, self._preset, self._guard, self._reporter)
        server = ServerWatch(admitted.server, admitted.budget) if admitted.server else None
        try:
            return self._launch(admitted, server)
        finally:
            if server is not None:
                server.close()

    def _launch(self, admitted: AdmittedLaunch, server: ServerWatch | None) -> ExecResult:
        options, session, preset = self._options, self._session, self._preset
        files = prepare_child_files(session.run_root, session.invocation, admitted.requested)
        rows = ChildRows(files.ledger, session.ledger, options.benchmark, admitted.requested, self._problems.tell)
        evidence = Evidence(session.ledger, rows, files.outcome, preset, self._problems.tell)
        launch = self._begun(admitted.launch)
        pump = Pump(
            process_redactor(),
            Screen(_STDERR, quiet=options.quiet),
            OutputLog(files.log, self._problems.tell),
            evidence.read_line if preset else None,
        )
        watch = Watch(options, preset, evidence, self._guard, server, self._reporter)
        collector = Collector(session.ledger, evidence, options.benchmark, admitted.requested, self._problems.tell)
        try:
            end, stop = self._supervise(launch, files, pump, watch, server)
            recording.record_end(session.manifest, end, stop, None)
            if preset is not None:
                collector.collect(preset, launch)
                if stop is None and evidence.fatal is not None:
                    # Only the files that it left told the reason.
                    stop = fatal(*evidence.fatal)
                    recording.record_end(session.manifest, end, stop, None)
            collector.fill_in(expected=preset is not None)
        finally:
            counts = self._record(collector, evidence, watch, server)
        outcome, status = verdict(end, stop, evidence.claim, evidence.unusable, counts or {})
        why = why_it_ended(outcome, end, stop, evidence.claim, evidence.outcome_problem(), counts)
        recording.record_why(session.manifest, outcome, why)
        session.conclude(outcome, status)
        return ExecResult(
            session.run_root,
            outcome,
            end.exit_status,
            counts,
            self._problems.texts(),
            why,
            remedy(outcome, stop, evidence.claim),
            stop,
        )

    def _begun(self, launch: Launch) -> Launch:
        """Return the launch with what its results will be told apart from."""
        begun = replace(launch, started_at_unix=time.time())
        return replace(begun, already=self._preset.extents(begun)) if self._preset else begun

    def _supervise(
        self, launch: Launch, files: ChildFiles, pump: Pump, watch: Watch, server: ServerWatch | None
    ) -> tuple[ChildEnd, Stop | None]:
        self._guard.begin()
        child = SupervisedChild(
            launch.command, cwd=launch.cwd, environ=files.environment(), grace_sec=self._options.grace_sec
        )
        try:
            self._start(child, launch, pump)
            if server is not None:
                server.start()
            return watch.until_end(child)
        except Interrupted as interrupted:
            if child.pid:
                self._interrupt(child, interrupted)
            # A second signal, that killed the launcher at once, is the one that decides.
            raise Interrupted(self._session.signals.arrived or interrupted.signum) from None
        finally:
            self._leave(child, pump)

    def _start(self, child: SupervisedChild, launch: Launch, pump: Pump) -> None:
        try:
            child.start(pump.inlet)
            self._reporter.event(f"started {launch.command[0]} (process {child.pid})")
            # Before anything that it prints.
            self._reporter.flush()
        except NotStarted as error:
            raise not_started(launch.command[0], error) from error
        finally:
            if child.pid:
                # Also when a signal came just now: what it prints until it has ended is not lost.
                pump.start()

    def _interrupt(self, child: SupervisedChild, interrupted: Interrupted) -> None:
        """Pass the signal on, and wait for the end; a second one kills the launcher at once."""
        self._reporter.event(f"{interrupted}: passed on to the launcher; {self._options.grace_sec:g} s to end")
        end = child.stop(interrupted.signum, self._options.grace_sec)
        recording.record_end(self._session.manifest, end, None, interrupted.signum)

    @untorn
    def _leave(self, child: SupervisedChild, pump: Pump) -> None:
        """Leave nothing running, whatever happened."""
        if child.pid:
            child.kill()
        if not pump.close():
            self._problems.tell("a process that could not be ended still holds the launcher's output")

    @untorn
    def _record(
        self, collector: Collector, evidence: Evidence, watch: Watch, server: ServerWatch | None
    ) -> dict[str, int] | None:
        """Record what was said, counted and spent, whichever way it ended; returns the counts of the rows."""
        manifest = self._session.manifest
        with contextlib.suppress(OSError):
            evidence.look(at_end=True)
        last = collector.last_rows()
        counts = counts_of(last.values()) if last else None
        for problem in recording.record_counts(manifest, counts, evidence.claim):
            self._problems.tell(problem)
        self._tell_of_files(evidence)
        recording.record_cost(manifest, evidence, server, watch.spent_usd(), self._options.max_cost_usd)
        recording.record_evidence(manifest, evidence, self._problems.texts())
        return counts

    def _tell_of_files(self, evidence: Evidence) -> None:
        if wrong := evidence.outcome_problem():
            self._problems.tell(wrong)
        for notice in ledger_notices(self._session.run_root):
            self._problems.tell(notice)
        self._guard.look()
        for problem in self._problems.texts():
            self._reporter.event(problem)
