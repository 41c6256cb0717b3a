"""What the steps of `prepare` share, and the ledger rows that tell how it ended."""

from dataclasses import dataclass, field
from typing import Any

from obo_bench.core.ledger import Ledger, Row, Status
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL, NONCE_LABEL, RUN_LABEL
from obo_bench.engine.daemon import Engine
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.context import IMAGE_TAG
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.preparing.options import PrepareOptions
from obo_bench.programbench.solving.endings import last_ending


class Blocked(RuntimeError):
    """Nothing could be packaged; nothing of the workspace is lost."""

    def __init__(self, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.reason = reason
        """The row's reason code."""
        self.details = details
        """Evidence for the row."""


@dataclass
class Preparation:
    """One admitted preparation."""

    session: Session
    """The seam."""
    options: PrepareOptions
    """What was asked for."""
    reporter: Reporter
    """Where progress goes."""
    engine: Engine
    """The daemon."""
    instance: Instance
    """The instance."""
    instruction: str
    """What the agent is told."""
    ledger: Ledger
    """The ledger of the run, which other instances share."""
    nonce: str
    """Part of the labels of all that this invocation makes on the daemon."""
    details: dict[str, Any] = field(default_factory=dict)
    """What has been found so far, for the row."""

    @property
    def paths(self) -> InstancePaths:
        """The files of the instance."""
        return self.options.paths

    @property
    def image(self) -> str:
        """Name of the instance's cleanroom image."""
        return f"{self.instance.image_name}:{IMAGE_TAG}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of what this invocation makes on the daemon; the operator's container has none of them."""
        return {
            RUN_LABEL: self.options.run.name,
            INSTANCE_LABEL: self.instance.instance_id,
            NONCE_LABEL: self.nonce,
        }

    def note(self, text: str) -> None:
        """Tell the operator of something that is no error, and keep it in the manifest."""
        self.session.manifest.harness.setdefault("notices", []).append(text)
        self.reporter.event(text, self.instance.instance_id)

    def row(self, status: Status, reason: str, *, error: str = "", submission_sha256: str = "", **more: Any) -> Row:
        """Write a row with all that was found, and return it.

        One that has no submission of its own repeats what is known of an earlier one: the last row of an instance must
        not hide finished work. Raises LedgerUnwritable.
        """
        paths, earlier = self.paths, last_ending(self.paths)
        graded: dict[str, Any] = {}
        if earlier is not None and paths.submission.is_file():
            submission_sha256 = submission_sha256 or earlier.submission_sha256
            if earlier.submission_sha256 == submission_sha256:
                graded = _grade_of(earlier)
        return self.append(
            Row(
                benchmark=BENCHMARK,
                instance_id=self.instance.instance_id,
                status=status,
                reason_code=reason,
                prediction_written=paths.submission.is_file(),
                official_eval_status=graded.pop("official_eval_status", "not_run"),
                output_paths=paths.outputs(),
                error=error,
                details={**self.details, **graded, **more},
                submission_sha256=submission_sha256,
            )
        )

    def append(self, row: Row) -> Row:
        """Write a row and tell the operator; raises LedgerUnwritable."""
        written = self.ledger.append(row)
        graded = f", {row.official_eval_status}" if row.official_eval_status != "not_run" else ""
        text = f"{row.status} ({row.reason_code}{graded}){': ' + row.error if row.error else ''}"
        self.reporter.event(text, row.instance_id)
        return written


def _grade_of(row: Row) -> dict[str, Any]:
    """Return the grade that a row tells, as a later row of the same archive repeats it."""
    grade = {"official_eval_status": row.official_eval_status}
    evaluation = row.details.get("official_evaluation")
    return grade if evaluation is None else {**grade, "official_evaluation": evaluation}
