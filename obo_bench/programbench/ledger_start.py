"""Begin to work with a run's ledger."""

from obo_bench.core.ledger import LedgerUnwritable
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.core.why import why


def take_over_ledger(session: Session, reporter: Reporter) -> None:
    """Complete what a killed writer left undone, before any row is relied upon, and tell of damage.

    Raises PreflightRefused `run_root_unwritable`.
    """
    try:
        notices = session.ledger.take_over()
    except LedgerUnwritable as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"{str(session.ledger.path)!r}: {why(error)}",
            evidence={"ledger": str(session.ledger.path), "why": why(error)},
        ) from error
    for notice in notices:
        reporter.event(notice)
