"""The page of a report: it stands alone, takes foreign text as text, stays small, and is made quickly."""

import json
import math
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import FrameType

import pytest

from obo_bench.core.redact import process_redactor
from obo_bench.programbench.row_reasons import ROW_REASONS
from obo_bench.programbench.solving.endings import PERMANENT, REATTACHABLE
from obo_bench.report.counts import counted
from obo_bench.report.document import words
from obo_bench.report.document.build import build_report
from obo_bench.report.document.remedies import grade_remedy, row_remedy
from obo_bench.report.html.page import html
from obo_bench.report.html.texts import coded
from obo_bench.report.html.timeline_chart import timeline
from obo_bench.report.markdown import coded as code_in_markdown
from obo_bench.report.markdown import markdown, plain
from tests.report_case import long_run, row
from tests.solved_run import CMATRIX, run_session

HOSTILE = (
    "</style><script>window.ran = true</script>\"'><img src=http://evil.example/x onerror=alert(1)>"
    "{{ 7*7 }}\u202e\x1b[31m"
)


class Page(HTMLParser):
    """Collects tags and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def values(self, attribute: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(attribute))]

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def hostile_run(root: Path) -> Path:
    """A run in which every foreign text is hostile and too long."""
    ids = [HOSTILE[:60], "../../etc/passwd", "javascript:alert(1)"]
    with run_session(root, ids, dataset=HOSTILE) as session:
        session.manifest.argv = ["obo-bench", HOSTILE]
        session.manifest.harness.update(solve_model=HOSTILE, ouroboros_url=HOSTILE, selector={HOSTILE: HOSTILE})
        session.manifest.source.repo_dir = HOSTILE
        for reason in ("task_not_completed", HOSTILE):
            ending = ("failed", reason, {"infrastructure": False})
            row(session, CMATRIX, ending, error=HOSTILE + "x" * 10_000, durations={HOSTILE: 1.0})
        session.manifest.requested_task_ids = [CMATRIX, *ids]
    return root


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_run(tmp_path_factory.mktemp("runs") / "big", 200, error="e" * 10_000)


def calls(root: Path) -> int:
    """Count the calls of Python functions that making a page takes: the work, whatever else the machine does."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        html(build_report(root, root))
    finally:
        sys.setprofile(None)
    return count


def test_twice_the_instances_are_twice_the_work(tmp_path: Path, big: Path) -> None:
    half = long_run(tmp_path / "half", 100)
    html(build_report(half, half))  # what the first page alone takes: templates are compiled
    assert calls(big) < 2.2 * calls(half)


def test_a_full_run_makes_a_page_below_a_megabyte(big: Path) -> None:
    page = html(build_report(big, big))
    assert len(page.encode()) < 1_000_000
    assert "[cut: 10000 characters]" in page
    assert "e" * 700 not in page


def test_the_page_stands_alone(big: Path) -> None:
    page = Page(html(build_report(big, big)))
    assert not page.count("script")
    assert not page.values("src")
    assert all(value.startswith(("#", "./", "data:")) for value in page.values("href"))
    styles = re.findall(r"url\(|@import", html(build_report(big)))
    assert styles == []


def test_every_link_within_the_page_has_its_target_and_every_file_is_there(big: Path) -> None:
    page = Page(html(build_report(big, big)))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in page.values("href") if value.startswith("#")} <= set(ids)
    files = [value for value in page.values("href") if value.startswith("./")]
    assert len(files) > 400
    assert all((big / file).exists() for file in files)


def test_the_page_can_be_read_by_a_machine_that_reads_aloud(big: Path) -> None:
    page = Page(html(build_report(big, big)))
    assert page.count("h1") == 1
    assert page.count("caption") == page.count("table") > 3
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in drawings)
    assert ("html", {"lang": "en"}) in page.tags


def test_foreign_text_is_text(tmp_path: Path) -> None:
    report = build_report(hostile_run(tmp_path / "r"))
    page = Page(html(report))
    assert not page.count("script")
    assert not page.count("img")
    assert not page.values("onerror")
    assert all(value.startswith(("#", "./", "data:")) for value in page.values("href"))
    assert not [value for value in page.values("href") if ".." in value]
    assert "{{ 7*7 }}" in html(report)
    for drawn in (html(report), markdown(report)):
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn
        assert "<script" not in drawn.partition("</style>")[2]
    assert "<" not in markdown(report)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    secret = "practice-secret-value-12345"
    process_redactor().learn([secret])
    with run_session(tmp_path / "r", [CMATRIX]) as session:
        ending = ("failed", "task_not_completed", {"infrastructure": False})
        row(session, CMATRIX, ending, error="it said", durations={"solve": 1.0})
    ledger = tmp_path / "r" / "result_index.jsonl"
    ledger.write_text(ledger.read_text().replace("it said", f"it said {secret}"))
    report = build_report(tmp_path / "r")
    assert "it said [redacted]" in html(report)
    assert secret not in html(report) + markdown(report) + json.dumps(report.document())


def test_all_forms_tell_the_same_numbers(big: Path) -> None:
    report = build_report(big)
    page, text = html(report), markdown(report)
    assert report.scores is not None
    for mean in (report.scores.official_mean_over_benchmark, report.scores.official_mean_over_listed):
        assert words.percent(mean) in page
        assert words.percent(mean) in text
    spent = words.total_dollars(report.money.known_usd, report.money.unknown_attempts, lower_bound=True)
    assert spent.startswith("≥ $")
    assert spent in page
    assert spent in text
    assert "diagnostic, not for publication" in page
    assert "diagnostic, not for publication" in text


def test_numbers_are_never_rounded_to_what_they_are_not() -> None:
    assert [words.percent(value) for value in (0.99999, 1.0, None)] == ["99.9%", "100.0%", "-"]
    assert [words.score(value) for value in (0.9999, 1.0)] == ["0.999", "1.000"]
    assert [words.dollars(value) for value in (None, 0.0004, 0.0)] == ["unknown", "$0.0004", "$0.00"]
    assert words.total_dollars(0.0, 3, lower_bound=True) == "unknown"
    assert words.total_dollars(2.5, 0, lower_bound=False) == "$2.50"
    lasted = [words.seconds(value) for value in (59.94, 59.96, 3599.7, 5400)]
    assert lasted == ["59.9 s", "1 min 00 s", "1 h 00 min", "1 h 30 min"]
    assert words.moment(1e18) == "unknown"


def test_every_ending_that_a_resume_treats_in_its_own_way_has_a_remedy_of_its_own() -> None:
    assert set(ROW_REASONS) >= PERMANENT | REATTACHABLE
    assert "--retry odd_code" in row_remedy("odd_code")
    assert "a resume solves it again" in row_remedy("provider_unavailable")
    assert grade_remedy("unknown_error_code:x")


def test_the_timeline_names_its_bars_and_tells_times_of_day_and_failures(tmp_path: Path) -> None:
    ids = ["owner__first.0000001", "owner__second.0000002"]
    with run_session(tmp_path / "r", ids) as session:
        row(session, ids[0], ("completed", "submission_prepared", {}), durations={"solve": 100.0})
        row(session, ids[1], ("failed", "executor_lost", {"infrastructure": True}), durations={"solve": 60.0})
    report = build_report(tmp_path / "r")
    drawn, page = timeline(report.timeline, ids), html(report)
    assert drawn is not None
    assert [(bar.label, bar.failed) for bar in drawn.bars] == [("1 first", False), ("\u00d7 2 second", True)]
    assert page.count('<rect class="failed"') == 1
    marks = [words.moment(mark * 30) for bar in report.timeline[:1] for mark in _marks(bar.start_unix, 100.0)]
    assert [f"{tick.label} UTC" for tick in drawn.ticks] == [mark.partition(" ")[2] for mark in marks]
    section = page.partition('id="timeline"')[2].partition("</section>")[0]
    assert section.count('<a href="#i1">') == section.count('<a href="#i2">') == 1
    assert all(tick.label in section for tick in drawn.ticks)


def _marks(start: float, span: float) -> range:
    return range(math.ceil(start / 30), math.floor((start + span) / 30) + 1)


def test_code_is_code_in_both_forms_and_foreign_text_stays_text() -> None:
    assert str(coded("see `a --b-c` <i>, --retry")) == (
        'see <code>a <span class="option">--b-c</span></code> &lt;i&gt;, <span class="option">--retry</span>'
    )
    assert code_in_markdown("see `a_b` or *c*") == "see `a_b` or \\*c\\*"
    for odd in ("one ` alone", "`<b>`", "`a|b`", "``"):
        assert code_in_markdown(odd) == plain(odd)
    assert "it solves it again with `--retry round_limit`" in row_remedy("round_limit")


def test_what_was_done_before_is_done() -> None:
    assert counted({"skipped": 2, "completed": 1, "not_attempted": 1}) == (
        "3 done (2 by earlier invocations), 1 not attempted"
    )
    assert counted({"failed": 1, "completed": 2}) == "2 completed, 1 failed"
    assert counted({"skipped": 2}) == "2 done (all by earlier invocations)"
    assert counted({}) == ""
