"""Draws a report as one HTML file: no script, nothing fetched, every foreign text escaped."""

from collections.abc import Callable
from functools import cache
from os import fsencode
from typing import TYPE_CHECKING
from urllib.parse import quote

from obo_bench.report import headline
from obo_bench.report.counts import counted
from obo_bench.report.document import words
from obo_bench.report.document.model import InstanceReport, RunReport
from obo_bench.report.html import charts
from obo_bench.report.html.texts import coded, parted, whole_words
from obo_bench.report.html.timeline_chart import timeline
from obo_bench.report.launched import is_launched

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
    "at_least": words.at_least,
    "seconds": words.seconds,
    "moment": words.moment,
    "spaced": words.spaced,
    "tone": lambda word: TONES.get(word, "bad"),
    "coded": coded,
    "state": words.state,
    "parted": parted,
    "quoted": lambda path: quote(path, safe="/"),
    "whole_words": whole_words,
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


def html(report: RunReport, way_to_run: str = ".") -> str:
    """Return the page; `way_to_run` is the relative path from its directory to that of the run."""
    instances, way = report.instances, quote(fsencode(way_to_run))
    return _template().render(
        report=report,
        anchors={instance.instance_id: f"i{number}" for number, instance in enumerate(instances, 1)},
        files=f"{way if way.startswith('..') else f'./{way}'}/".replace("/./", "/"),
        spent=headline.spent(report),
        other_spent=_other_spent(report),
        begun=headline.begun(report),
        took=headline.took(report),
        launched=is_launched(report.run.command),
        columns=charts.columns(report.scores.distribution) if report.scores else [],
        column_height=charts.COLUMN_HEIGHT,
        timeline=timeline(report.timeline, [instance.instance_id for instance in instances]),
        share=charts.share,
        costliest=_largest(instances, "cost_usd"),
        longest=_largest(instances, "seconds"),
        summary=one_line(report),
    )


def one_line(report: RunReport) -> str:
    """Return the result of a run in one line, for the page's description."""
    told = f"{words.spaced(report.ending.outcome)}; {counted(report.counts) or 'no instance'}"
    return f"{told}. {report.run.practice}" if report.run.practice else told


def _other_spent(report: RunReport) -> str:
    if report.compared is None:
        return ""
    money = report.compared.other_money
    return words.total_dollars(money.known_usd, money.unknown_attempts, lower_bound=money.lower_bound)


def _largest(instances: list[InstanceReport], field: str) -> float:
    return max((getattr(instance, field) or 0.0 for instance in instances), default=0.0)
