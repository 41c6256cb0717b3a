"""The answer of a command that was given `--json` (wire format)."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.manifest import ErrorRecord, Outcome, RefusalRecord
from obo_bench.core.wire_format import LaterWord, WireModel


class ResultEnvelope(WireModel):
    """The one JSON object on stdout, also for refusals and usage errors."""

    schema_: Literal["obo_bench.result.v1"] = Field("obo_bench.result.v1", alias="schema")
    """Format name."""
    command: str
    """The command, as far as it could be told."""
    outcome: Literal[Outcome, "usage_error"] | LaterWord
    """How it ended; `usage_error` when nothing was started."""
    exit_code: int
    """The process's exit status."""
    run_root: str | None
    """The directory of the run; null when nothing was recorded, or appended to a record."""
    manifest: str | None
    """The manifest; likewise."""
    refusal: RefusalRecord | None
    """The refusal, if that is how it ended."""
    error: ErrorRecord | None
    """The error, if that is how it ended."""
    result: dict[str, Any]
    """What the command found; its keys depend on the command."""
