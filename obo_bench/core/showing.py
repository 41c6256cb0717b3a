"""Shows and logs a recorded body from its beginning to its end."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from obo_bench.core.display import Display
from obo_bench.core.ending import error_record, outcome_of, says_success
from obo_bench.core.invocation_log import InvocationLog
from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import RunChange
from obo_bench.core.session import Session
from obo_bench.core.signals import untorn


class Showing:
    """Opens the reporter's display for a body that the seam has admitted, and closes it whatever way that ends."""

    def __init__(self, session: Session, reporter: Reporter) -> None:
        self._session = session
        self._reporter = reporter

    def __enter__(self) -> None:
        """Begin, and tell of a predecessor that died."""
        try:
            self._begin()
        except BaseException as error:
            # A signal right now: whoever is not entered is not left, either.
            self._end(error)
            raise

    @untorn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say last how the body ended."""
        self._end(error)

    def _begin(self) -> None:
        session, reporter = self._session, self._reporter
        if isinstance(reporter, Display):
            log = InvocationLog(session.run_root, session.invocation, lambda: session.owns_run_root)
            log.line(f"{session.manifest.command}: invocation {session.invocation} in {session.run_root}")
            reporter.open(log)
        reporter.update(RunChange(run_id=session.run_root.name, stage=session.manifest.command))
        if session.left_behind:
            reporter.event(f"an earlier invocation died without an ending: {_who(session.left_behind)}")

    def _end(self, error: BaseException | None) -> None:
        if isinstance(self._reporter, Display):
            self._reporter.close(self._last_words(error))

    def _last_words(self, error: BaseException | None) -> str:
        if error is None or says_success(error):
            return f"ended: {self._session.outcome} (exit status {self._session.exit_code})"
        told = error_record(error)
        return f"ended: {outcome_of(error)}: {told.type}: {told.message}"


def _who(owner: Mapping[str, Any]) -> str:
    """Return the owner record of a dead invocation in words; another program may have written anything there."""
    begun = owner.get("started_unix")
    try:
        since = time.strftime(", begun %Y-%m-%d %H:%M:%S", time.localtime(begun)) if begun else ""
    except (TypeError, ValueError, OverflowError, OSError):
        since = ""
    named = f" (invocation {owner['invocation']})" if owner.get("invocation") else ""
    return f"process {owner.get('pid', 'unknown')} on {owner.get('host', 'unknown')}{since}{named}"
