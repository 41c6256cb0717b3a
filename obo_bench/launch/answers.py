"""What `exec` and `ledger append` answer with `--json` (wire formats)."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.wire_format import WireModel


class ExecAnswer(WireModel):
    """`result` of `exec`."""

    schema_: Literal["obo_bench.exec.v1"] = Field("obo_bench.exec.v1", alias="schema")
    """Format name."""
    child_exit_code: int
    """The launcher's own status; 128 plus the number of a signal that ended it."""
    counts: dict[str, int] | None = None
    """Instances by what became of them; null where there are no rows."""
    problems: list[str] = Field(default_factory=list)
    """What was found wrong with what the launcher left."""
    timed_out: bool = False
    """Whether it was stopped for its time."""
    stopped_for: str | None = None
    """Why it was stopped; null where it ended by itself."""


class LedgerAppendAnswer(WireModel):
    """`result` of `ledger append`."""

    schema_: Literal["obo_bench.ledger_append.v1"] = Field("obo_bench.ledger_append.v1", alias="schema")
    """Format name."""
    seq: int
    """Number of the row in the run's ledger."""
    ledger: str
    """The ledger."""
    row: dict[str, Any]
    """The row as it was written."""
