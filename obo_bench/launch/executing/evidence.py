"""What a launcher lets us know while it runs: rows, its outcome file, lines that announce a reason."""

from collections.abc import Callable
from pathlib import Path

from obo_bench.core.documents import parse_document
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS
from obo_bench.gateway.cost import usd
from obo_bench.launch.contract.child_outcome import (
    ChildOutcome,
    UnusableOutcome,
    read_child_outcome,
    unknown_outcome,
)
from obo_bench.launch.contract.child_rows import ChildRows
from obo_bench.launch.contract.line_tail import LineTail
from obo_bench.launch.presets.preset import Preset

_MOST_ANNOUNCED = 20
_LONGEST_REASON = 200


class Evidence:
    """Collects it; `look` reads what is new and is never held up by anything that stands in a file's place."""

    def __init__(
        self,
        ledger: Ledger,
        child_rows: ChildRows,
        outcome: Path,
        preset: Preset | None,
        problem: Callable[[str], None],
    ) -> None:
        self.claim: ChildOutcome | None = None
        """The outcome that the launcher claims, as last read."""
        self.unusable = ""
        """Why what stands in the outcome file's place is none; empty while it is one, or not there."""
        self.rows: dict[str, Row] = {}
        """The last row of each instance, of this invocation."""
        self.child_rows = child_rows
        """The rows of the launcher's own file."""
        self.announced: list[str] = []
        """Reasons that lines of output announced, in order."""
        self.fatal: tuple[str, str] | None = None
        """The first reason that holds for every remaining task, and who says so."""
        self._costs: dict[tuple[str, int], float] = {}
        self._tail = LineTail(ledger.path, from_end=True)
        self._outcome = outcome
        self._outcome_state: tuple[int, int, int] | None = None
        self._preset = preset
        self._problem = problem
        self._told_tail = False

    def look(self, *, at_end: bool = False) -> None:
        """Take what is new, `at_end` all that there is. Raises LedgerUnwritable."""
        self._look_at_outcome()
        self.child_rows.take(at_end=at_end)
        while lines := self._tail.block():
            for line in lines:
                self._note(line)
        if self._tail.trouble and not self._told_tail:
            self._told_tail = True
            self._problem(f"the run's ledger {self._tail.trouble}")

    def read_line(self, line: str) -> None:
        """Take a line of output; called by the thread that carries it."""
        reason = self._preset.announced(line) if self._preset else None
        if reason is None:
            return
        self.weigh(reason, "a line of its output")
        if reason not in self.announced and len(self.announced) < _MOST_ANNOUNCED:
            self.announced.append(reason[:_LONGEST_REASON])

    def weigh(self, reason: str | None, who: str) -> None:
        """Remember a reason if it holds for every remaining task."""
        if reason in CAMPAIGN_FATAL_PROVENANCE_REASONS and self.fatal is None:
            self.fatal = str(reason), who

    def rows_usd(self) -> float | None:
        """Return what the rows of this invocation say was spent, in USD; None when they say nothing."""
        return round(sum(self._costs.values()), 6) if self._costs else None

    def claimed_usd(self) -> float | None:
        """Return what the launcher says it has spent, in USD."""
        return self.claim.cost_usd if self.claim else None

    def outcome_problem(self) -> str:
        """Return what is wrong with the outcome file, as a sentence; empty where nothing is."""
        wrong = self.unusable or (unknown_outcome(self.claim) if self.claim else "")
        return f"the outcome file {wrong}" if wrong else ""

    def _note(self, line: bytes) -> None:
        try:
            row = parse_document(Row, line)
        except (ValueError, RecursionError):
            self._problem("the run's ledger has a line that is no row")
            return
        self.rows[row.instance_id] = row
        amount = usd(row.cost.get("usd"))
        if amount is not None:
            self._costs[row.instance_id, row.attempt] = amount
        self.weigh(row.reason_code, f"the row of {row.instance_id[:_LONGEST_REASON]!r}")

    def _look_at_outcome(self) -> None:
        try:
            found = self._outcome.lstat()
        except OSError:
            state = None
        else:
            state = (found.st_ino, found.st_mtime_ns, found.st_size)
        if state == self._outcome_state:
            return
        try:
            self.claim, self.unusable = read_child_outcome(self._outcome), ""
        except UnusableOutcome as unusable:
            # It may be half written: it is looked at again as soon as it changes.
            self.claim, self.unusable = None, str(unusable)
        self._outcome_state = state
        if self.claim is not None:
            self.weigh(self.claim.refusal_reason, "its outcome file")
