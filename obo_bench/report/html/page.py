"""Draws a report as one HTML file: no script, nothing fetched, every foreign text escaped."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from obo_bench.report.document import words
from obo_bench.report.document.model import InstanceReport, RunReport
from obo_bench.report.html import charts

if TYPE_CHECKING:
    from jinja2 import Template

TONES = {
    "completed": "good",
    "pass": "good",
    "ok": "good",
    "skipped": "good",
    "running": "live",
    "started": "warn",
    "dry_run": "quiet",
    "not_asked": "quiet",
    "not_attempted": "quiet",
    "fail": "quiet",
    "": "quiet",
    "waived": "warn",
    "limited": "warn",
    "unknown": "warn",
    "ungraded": "warn",
    "instances_failed": "warn",
    "interrupted": "warn",
    "blocked": "warn",
    "stopped_budget": "warn",
    "gate_inconclusive": "warn",
    "official_eval_error": "warn",
}
"""How a word of a vocabulary is coloured; any other is bad news."""

_FILTERS: dict[str, Callable[..., str]] = {
    "percent": words.percent,
    "score": words.score,
    "difference": words.difference,
    "dollars": words.dollars,
    "seconds": words.seconds,
    "moment": words.moment,
    "spaced": words.spaced,
    "tone": lambda word: TONES.get(word, "bad"),
    "href": lambda path: "./" + quote(path, safe="/"),
}


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("obo_bench.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment.get_template("report.html")


def html(report: RunReport) -> str:
    """Return the page."""
    instances, money = report.instances, report.money
    return _template().render(
        report=report,
        anchors={instance.instance_id: f"i{number}" for number, instance in enumerate(instances, 1)},
        spent=words.total_dollars(money.known_usd, money.unknown_attempts, lower_bound=money.lower_bound),
        other_spent=_other_spent(report),
        took=_took(report),
        columns=charts.columns(report.scores.distribution) if report.scores else [],
        column_height=charts.COLUMN_HEIGHT,
        timeline=charts.timeline(report.timeline),
        phases=charts.PHASES,
        share=charts.share,
        costliest=_largest(instances, "cost_usd"),
        longest=_largest(instances, "seconds"),
        summary=one_line(report),
    )


def one_line(report: RunReport) -> str:
    """Return the result of a run in one line, for the page's description."""
    counts = ", ".join(f"{count} {words.spaced(status)}" for status, count in report.counts.items())
    return f"{words.spaced(report.ending.outcome)}; {counts or 'no instance'}"


def _other_spent(report: RunReport) -> str:
    if report.compared is None:
        return ""
    money = report.compared.other_money
    return words.total_dollars(money.known_usd, money.unknown_attempts, lower_bound=money.lower_bound)


def _took(report: RunReport) -> float | None:
    run = report.run
    if run.created_at_unix is None or run.finished_at_unix is None:
        return None
    return max(run.finished_at_unix - run.created_at_unix, 0.0)


def _largest(instances: list[InstanceReport], field: str) -> float:
    return max((getattr(instance, field) or 0.0 for instance in instances), default=0.0)
