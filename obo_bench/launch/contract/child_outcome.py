"""`child/outcome.json`: what a launcher says of its own end (wire format). A claim, never more than that.

It is foreign: bounded, validated field by field, and what stands in its place instead of a file is never waited for.
"""

import os
import stat
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from obo_bench.core.documents import parse_document
from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.why import why
from obo_bench.core.wire_format import LaterWord, WireModel

LARGEST_OUTCOME = 64 * 1024
"""Bytes of an outcome file that is read; a larger one is none."""
LONGEST_TEXT = 4000
"""Characters of a message that are kept."""
ClaimedOutcome = Literal[
    "completed",
    "instances_failed",
    "refused",
    "stopped_systemic",
    "stopped_budget",
    "nothing_exported",
    "official_eval_error",
    "child_failed",
]
"""How a launcher may say that it ended."""
_SEE = "see `obo-bench schema child-outcome`"


class ChildOutcome(WireModel):
    """The whole document; everything but the outcome may be left out."""

    schema_: Literal["obo_bench.child_outcome.v1"] = Field("obo_bench.child_outcome.v1", alias="schema")
    """Format name."""
    outcome: ClaimedOutcome | LaterWord
    """How the launcher says it ended."""
    refusal_reason: str | None = None
    """The typed reason, where it ended for one; one that holds for every remaining task stops the launcher at once."""
    message: str = ""
    """One human line."""
    completed_count: int | None = Field(None, ge=0)
    """Instances with a result; null where it does not say."""
    failed_count: int | None = Field(None, ge=0)
    """Instances that failed; likewise."""
    skipped_count: int | None = Field(None, ge=0)
    """Instances that were done already; likewise."""
    not_attempted_count: int | None = Field(None, ge=0)
    """Instances that were never started; likewise."""
    degraded_count: int | None = Field(None, ge=0)
    """Completed instances whose solve was not clean; likewise."""
    cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """What it has spent so far, in USD; null where it does not know."""


class UnusableOutcome(ValueError):
    """What lies in the outcome file's place is no outcome; the text says why."""


def read_child_outcome(path: Path) -> ChildOutcome | None:
    """Return what the launcher claims, None when there is no file; never waits and never follows a link.

    Raises UnusableOutcome for anything else: no regular file, too large, torn, or not of the format.
    """
    try:
        data = _bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnusableOutcome(f"cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_OUTCOME:
        raise UnusableOutcome(f"is larger than {LARGEST_OUTCOME} bytes")
    try:
        return parse_document(ChildOutcome, data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = f"{first['loc'][0]}: "[:100] if first["loc"] else ""
        raise UnusableOutcome(f"is of another shape: {field}{first['msg']}; {_SEE}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableOutcome(f"is not a JSON document: {why(error)}; {_SEE}") from error


def unknown_outcome(claim: ChildOutcome) -> str:
    """Return what is wrong with a claimed outcome that is no word of the format; empty where nothing is."""
    if not isinstance(claim.outcome, LaterWord):
        return ""
    return f"claims {claim.outcome[:200]!r}, which is none of {', '.join(get_args(ClaimedOutcome))}; {_SEE}"


def write_child_outcome(path: str | os.PathLike[str], outcome: ChildOutcome) -> None:
    """Write the document durably and atomically, secrets redacted, so that no reader sees half of it.

    Raises OSError.
    """
    short = outcome.model_copy(update={"message": outcome.message[:LONGEST_TEXT]})
    write_json(path, process_redactor().document(short.document()))


def _bytes(path: Path) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
        return stream.read(LARGEST_OUTCOME + 1)
