"""`BenchmarkRun`: what a launcher has in its hands between the beginning and the end of its run."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, get_args

from obo_bench.core.ending import is_campaign_fatal
from obo_bench.core.files import make_private_directory, write_json
from obo_bench.core.ledger import Row, Status
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, Objection, Refusal, UsageError
from obo_bench.launch.contract.child_rows import LONGEST_ID, reason_problem
from obo_bench.launch.helper.asked import Asked, ids_of
from obo_bench.launch.helper.conclusion import Conclusion, Ending
from obo_bench.launch.helper.outputs import Outputs
from obo_bench.launch.helper.tally import Tally, tally

Paths = Mapping[str, str | PathLike[str]]
"""Files by what they are."""


class BenchmarkRun(ABC):
    """The run of a launcher; the same whether it records itself or an `obo-bench exec` around it does.

    Safe to share between threads.
    """

    def __init__(self, asked: Asked, run_root: Path, outputs: Outputs) -> None:
        self._asked = asked
        self._run_root = run_root
        self._outputs = outputs
        self._requested = asked.requested_task_ids
        self._output_paths = {name: outputs.place(path) for name, path in asked.output_paths.items()}
        self._concluded: Conclusion | None = None
        self._stops: list[Refusal] = []
        self._guard = threading.Lock()

    @property
    def run_root(self) -> Path:
        """The directory of the run, absolute; results may lie in it, its own record must be left alone."""
        return self._run_root

    @property
    def output_paths(self) -> Mapping[str, Path]:
        """Where results go, by what they are: `output_paths` as given, made absolute."""
        return dict(self._output_paths)

    @property
    @abstractmethod
    def manifest(self) -> Mapping[str, Any]:
        """The manifest as it stands: a copy, what is changed in it is lost. Raises OSError where it cannot be read."""

    @abstractmethod
    def request(self, task_ids: Sequence[str]) -> None:
        """Say what is asked for, once it has been read: the denominator of every rate, each id once.

        Under `exec` its own manifest keeps what exec was told; the counts of this launcher use what is said here.
        Raises UsageError for what is no list of ids, and PreflightRefused `launcher_contradicts_run` under an exec that
        was told its ids, for others than these.
        """

    def record(
        self,
        instance_id: str,
        status: Status = "completed",
        *,
        reason_code: str | None = None,
        output_paths: Paths | None = None,
        prediction_written: bool = False,
        error: str = "",
        cost_usd: float | None = None,
        details: Mapping[str, Any] | None = None,
        durations: Mapping[str, float] | None = None,
        attempt: int = 1,
    ) -> None:
        """Append the row of an instance; it is on disk when this returns. Record each the moment it exists.

        `status`: completed, failed, skipped (was done already), blocked (can never be solved here) or not_attempted.
        `reason_code`: why, one word; the status itself unless given. `output_paths`: files of the instance, relative to
        the run root or absolute. `error`: one human line. `cost_usd`: what the attempt cost. `details`: evidence, JSON
        values; `degraded: True` marks a result that is not clean. `durations`: seconds by phase. `attempt`: from 1.

        Raises UsageError for values that mean nothing, LedgerUnwritable (an OSError) when the row could not be made
        durable (start nothing more then), and the refusal of `stop_if_fatal` after a row whose reason is
        campaign-fatal.
        """
        if status not in get_args(Status):
            known = ", ".join(get_args(Status))
            raise UsageError(f"{instance_id!r:.200}: {status!r:.200} is no status: use one of {known}")
        if not 0 < len(instance_id) <= LONGEST_ID:
            raise UsageError(f"{instance_id!r:.200} is no instance id: it has from 1 to {LONGEST_ID} characters")
        if problem := reason_problem(reason_code or status):
            raise UsageError(
                f"{instance_id!r:.200}: reason_code {reason_code!r:.200} {problem}; `error` takes a sentence"
            )
        row = Row(
            benchmark=self._asked.benchmark,
            instance_id=instance_id,
            status=status,
            reason_code=reason_code or status,
            prediction_written=prediction_written,
            output_paths={name: self._outputs.named(path) for name, path in (output_paths or {}).items()},
            error=error,
            cost={} if cost_usd is None else {"usd": cost_usd, "source": "launcher"},
            details=dict(details or {}),
            durations=dict(durations or {}),
            attempt=attempt,
        )
        self._append(row)
        self.stop_if_fatal(row.reason_code, error)

    def write_json(self, path: str | PathLike[str], payload: Any) -> Path:
        """Replace a result by `payload` as JSON, atomically and durably, as it is; returns where it lies.

        A relative path begins in the run root; directories are made. Raises OSError, UsageError for the run's own
        files, PreflightRefused `output_not_confined` for a place of the server's.
        """
        target = self._outputs.place(path)
        make_private_directory(target.parent)
        write_json(target, payload)
        return target

    def conclude(self, outcome: str, message: str = "", *, exit_code: int | None = None) -> None:
        """Say how the run ends: one of `conclusion.EXIT_CODES`. The last word counts, and takes effect at the end.

        Without it, and also after `completed`, a run whose rows show a failure, or lack something that was requested,
        ends as `instances_failed`. `exit_code` is for `child_failed` alone: the status of the failed program.
        Raises UsageError.
        """
        self._concluded = Conclusion.of(outcome, message, exit_code)

    def stop_if_fatal(self, reason: str, message: str = "") -> None:
        """Raise the typed refusal of a campaign-fatal reason, which ends the run with status 7; else do nothing.

        Let it pass. Also one that is caught decides how the run ends: going on would only cost money.
        """
        if reason in CAMPAIGN_FATAL_PROVENANCE_REASONS:
            self._stop(reason, message or f"the launcher found {reason}, which holds for every remaining task")

    @abstractmethod
    def _append(self, row: Row) -> None:
        """Make a row durable; raises LedgerUnwritable."""

    @property
    @abstractmethod
    def _ledger(self) -> tuple[Path, str]:
        """The ledger, and the invocation that its rows of this run carry."""

    def _stop(self, reason: str, message: str) -> NoReturn:
        try:
            raise Objection(reason, message, evidence={"found_by": "launcher"}).refusal()
        except Refusal as refusal:
            with self._guard:
                self._stops.append(refusal)
            raise

    def _tally(self) -> Tally | None:
        """Count what is on disk; None where that cannot be read: it does not change how the run ended."""
        ledger, invocation = self._ledger
        try:
            return tally(ledger, self._requested, invocation)
        except OSError:
            return None

    def _ending(self, error: BaseException | None) -> Ending:
        """Return how the run ends that `error`, or nothing, takes out of the launcher's hands."""
        if isinstance(error, Refusal) and is_campaign_fatal(error) and error not in self._stops:
            self._stops.append(error)
        for stop in self._stops:
            stop.settle()
        return Ending.decide(error, self._stops, self._concluded, self._tally())

    def _ids(self, task_ids: Sequence[str]) -> tuple[str, ...]:
        self._requested = ids_of(task_ids)
        return self._requested
