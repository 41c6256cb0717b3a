"""After a launcher has ended: what its preset finds becomes rows, and no requested instance is left without one."""

from collections.abc import Callable

from obo_bench.core.ledger import Ledger, Row, latest_rows
from obo_bench.core.result_reasons import NO_RESULT
from obo_bench.launch.executing.evidence import Evidence
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Preset, Result


class Collector:
    """Completes the ledger of one invocation."""

    def __init__(
        self,
        ledger: Ledger,
        evidence: Evidence,
        benchmark: str,
        requested: tuple[str, ...] | None,
        problem: Callable[[str], None],
    ) -> None:
        self._ledger = ledger
        self._evidence = evidence
        self._benchmark = benchmark
        self._requested = requested
        self._problem = problem

    def collect(self, preset: Preset, launch: Launch) -> int:
        """Append what the preset finds, for instances that have no row of this invocation; returns how many."""
        found = preset.results(launch)
        for problem in found.problems:
            self._problem(problem)
        taken = 0
        for result in found:
            if self._requested is not None and result.instance_id not in self._requested:
                self._problem(f"a result for {result.instance_id[:200]!r} was found, which was not requested")
            elif result.instance_id not in self._evidence.rows:
                self._ledger.append(self._row(result))
                taken += 1
        self._evidence.look(at_end=True)
        return taken

    def fill_in(self, *, expected: bool) -> None:
        """Append a row for each requested instance without one, where rows are expected or there is at least one."""
        rows = self.last_rows()
        if not rows and not expected:
            return
        for name in self._requested or ():
            if name not in rows:
                self._ledger.append(
                    Row(benchmark=self._benchmark, instance_id=name, status="not_attempted", reason_code=NO_RESULT)
                )

    def last_rows(self) -> dict[str, Row]:
        """Return the last row of each requested instance, of all where nobody knows what was requested."""
        rows = latest_rows(self._ledger.path)
        return {name: row for name, row in rows.items() if self._requested is None or name in self._requested}

    def _row(self, result: Result) -> Row:
        return Row(
            benchmark=self._benchmark,
            instance_id=result.instance_id,
            status=result.status,
            reason_code=result.reason_code,
            prediction_written=result.prediction_written,
            official_eval_status=result.official_eval_status,
            output_paths=result.output_paths,
            error=result.error,
            details=result.details,
            attempt=result.attempt,
            cost=result.cost,
        )
