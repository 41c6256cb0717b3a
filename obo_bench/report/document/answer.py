"""What `programbench report` answers with: the numbers of the report without its long parts (wire format)."""

from typing import Literal, Self

from pydantic import Field

from obo_bench.core.wire_format import WireModel
from obo_bench.report.document.model import RunReport
from obo_bench.report.document.parts import Attempts, Ending, Money, RunFacts, Scores
from obo_bench.report.row_grades import RowGrades


class ReportAnswer(WireModel):
    """The `result` of `--json`."""

    schema_: Literal["obo_bench.report_answer.v1"] = Field("obo_bench.report_answer.v1", alias="schema")
    """Format name."""
    report: str
    """The file that was written."""
    format: str
    """What it is: html, md or json."""
    run: RunFacts
    """Which run it tells of."""
    ending: Ending
    """How that run ended."""
    counts: dict[str, int]
    """Its instances by the status of their last row."""
    scores: Scores | None
    """Its official grades; null where there are none."""
    grades: RowGrades | None = None
    """Instances by the verdicts of their rows; null where `scores` tells, or no row has a verdict."""
    money: Money
    """What it cost."""
    attempts: Attempts
    """How often instances were solved."""
    notes: list[str]
    """What could not be read or was left out."""

    @classmethod
    def of(cls, made: RunReport, file: str, form: str) -> Self:
        """Return the answer for a report that was written to `file`."""
        return cls(
            report=file,
            format=form,
            run=made.run,
            ending=made.ending,
            counts=made.counts,
            scores=made.scores,
            grades=made.grades,
            money=made.money,
            attempts=made.attempts,
            notes=made.notes,
        )
