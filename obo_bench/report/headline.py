"""What every drawing of a report says first: since when, how long, and what it cost."""

from obo_bench.report.document import words
from obo_bench.report.document.model import RunReport

_SOLVING = "programbench run"
_NOTHING = "-"


def spent(report: RunReport) -> str:
    """Return what the run cost; nothing for a record of what costs nothing."""
    money = report.money
    told = report.attempts.attempts or money.unknown_attempts or money.known_usd
    if not told and report.run.command != _SOLVING:
        return _NOTHING
    return words.total_dollars(money.known_usd, money.unknown_attempts, lower_bound=money.lower_bound)


def begun(report: RunReport) -> str:
    """Return when the first invocation began."""
    run = report.run
    return words.moment(run.created_at_unix if run.begun_at_unix is None else run.begun_at_unix)


def took(report: RunReport) -> str:
    """Return how long all invocations were at work; empty where nothing tells."""
    run, count = report.run, len(report.invocations)
    if run.worked_sec is None:
        return ""
    bound = "at least " if run.worked_is_lower_bound else ""
    return f"{bound}{words.seconds(run.worked_sec)}{f' in {count} invocations' if count > 1 else ''}"
