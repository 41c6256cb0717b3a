"""Why an attempt could not begin."""

from obo_bench.engine.cleanroom import CleanroomUnfit
from obo_bench.engine.trouble import engine_silence, is_disk_full
from obo_bench.programbench.context import RunContext

ENGINE_UNREACHABLE = "engine_unreachable"
DISK_LOW = "engine_disk_low"


class NotReady(RuntimeError):
    """An attempt that could not begin; nothing was spent."""

    def __init__(self, reason: str, message: str, *, infrastructure: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        """The row's reason code."""
        self.infrastructure = infrastructure
        """Whether a resume may try again."""


def reason_of(context: RunContext, error: Exception, otherwise: str) -> str:
    """Return the reason code of a step that failed: a full disk, an engine that is gone, or what the step itself says.

    The first two hold for every instance.
    """
    if is_disk_full(error):
        return DISK_LOW
    silent = None if isinstance(error, CleanroomUnfit) else engine_silence(context.engine, context.closed.wait)
    return ENGINE_UNREACHABLE if silent else otherwise
