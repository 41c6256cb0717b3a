"""Draws a report as Markdown, for an issue or a chat: the same numbers as the page, without its charts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from obo_bench.report import headline
from obo_bench.report.document import words
from obo_bench.report.document.model import InstanceReport, RunReport
from obo_bench.report.document.parts import Scores
from obo_bench.report.row_grades import RowGrades

_MEANINGFUL = frozenset("\\`*_[]|~")
_NOT_IN_CODE = frozenset("<>&|")


def markdown(report: RunReport) -> str:
    """Return the report; no foreign text of it is markup."""
    return "\n".join(
        [*_head(report), *_record(report), *_scores(report), *_failures(report), *_compared(report), *_rows(report)]
    )


def plain(text: str) -> str:
    """Return a text with everything escaped that Markdown or HTML could read."""
    return "".join(
        f"&#{ord(char)};" if char in "<>&" else f"\\{char}" if char in _MEANINGFUL else char for char in text
    )


def coded(text: str) -> str:
    """Return a text of ours, in which backticks mean code; what could be read otherwise there is escaped instead."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or any(set(code) & _NOT_IN_CODE or not code for code in parts[1::2]):
        return plain(text)
    return "".join(f"`{part}`" if at % 2 else plain(part) for at, part in enumerate(parts))


@dataclass(frozen=True)
class _Ours:
    """A cell whose text is ours, code in backticks included."""

    text: str

    @property
    def drawn(self) -> str:
        return coded(self.text)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: int = 0) -> Iterator[str]:
    """Yield a table whose last `numbers` columns are aligned to the right."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---'] * (len(head) - numbers) + ['--:'] * numbers)}|"
    for row in rows:
        yield f"| {' | '.join(cell.drawn if isinstance(cell, _Ours) else plain(str(cell)) for cell in row)} |"
    yield ""


def _head(report: RunReport) -> Iterator[str]:
    run, ending, money = report.run, report.ending, report.money
    yield f"# {plain(run.run_id)}: {plain(words.spaced(ending.outcome))}"
    yield ""
    if run.practice:
        yield f"> **{plain(run.practice)}**\n"
    yield coded(ending.words)
    for name, text in (("Reason", plain(ending.reason)), ("Message", plain(ending.message))):
        if text:
            yield f"\n{name}: {text}"
    if ending.remedy:
        yield f"\nWhat to do: {coded(ending.remedy)}"
    yield ""
    unknown = f", {money.unknown_attempts} attempt(s) of unknown cost" if money.unknown_attempts else ""
    facts = [
        ("Begun", headline.begun(report)),
        ("Took", headline.took(report) or words.UNKNOWN),
        ("Cost", f"{headline.spent(report)}{unknown}"),
        ("Overruled", ", ".join(report.waivers) or "nothing"),
        *((fact.name, fact.value) for fact in report.asked),
        *(("Note", note) for note in report.notes),
    ]
    yield from _table(["Fact", "Value"], facts)


def _record(report: RunReport) -> Iterator[str]:
    yield "## Provenance\n"
    findings = [(f.name, words.spaced(str(f.verdict)), _Ours(f.words), f.evidence) for f in report.findings]
    yield from _table(["Subject", "Verdict", "In plain words", "Evidence"], findings)


def _scores(report: RunReport) -> Iterator[str]:
    if report.scores is None:
        yield from _verdicts(report.grades)
        return
    yield "## Scores\n"
    yield from _table(["Figure", "Of", "Value"], _figures(report.scores), numbers=2)


def _verdicts(grades: RowGrades | None) -> Iterator[str]:
    if grades is not None:
        yield "## Verdicts of the rows\n"
        rows = [("Passed", grades.passed), ("Failed", grades.failed), ("Ungraded", grades.ungraded)]
        yield from _table(["Verdict", "Instances"], rows, numbers=1)


def _figures(scores: Scores) -> Iterator[tuple[str, int, object]]:
    benchmark, listed = scores.official_mean_over_benchmark, scores.official_mean_over_listed
    yield "Official mean over the benchmark", scores.official_benchmark_size, words.percent(benchmark)
    yield "Official mean over listed", scores.official_listed, words.percent(listed)
    yield "Resolved (score 1)", scores.official_listed, scores.resolved
    yield "Passed", scores.requested, scores.passed
    yield "Failed", scores.requested, scores.failed
    yield "Ungraded", scores.requested, scores.ungraded
    yield "Mean over graded (diagnostic, not for publication)", scores.graded, words.percent(scores.shrunken_mean)


def _failures(report: RunReport) -> Iterator[str]:
    if report.failures:
        yield "## Failures by reason\n"
        rows = [(f.reason, _Ours(f.remedy), f.count) for f in report.failures]
        yield from _table(["Reason", "What to do", "Instances"], rows, numbers=1)


def _compared(report: RunReport) -> Iterator[str]:
    found = report.compared
    if found is None:
        return
    yield f"## Compared with {plain(found.other.run_id)}\n"
    if found.other.practice:
        yield f"> **{plain(found.other.practice)}**\n"
    means = f"{words.score(found.mean)} here, {words.score(found.other_mean)} there"
    yield f"{found.pairs} pair(s): {found.better} better, {found.equal} equal, {found.worse} worse; mean difference"
    yield f"{words.difference(found.mean_difference)} ({means})\n"
    rows = [
        (p.instance_id, words.difference(p.difference), words.score(p.score), words.score(p.other_score),
         words.dollars(p.cost_usd), words.dollars(p.other_cost_usd))
        for p in found.rows
    ]  # fmt: skip
    yield from _table(["Instance", "Difference", "Here", "There", "Cost here", "Cost there"], rows, numbers=5)


def _rows(report: RunReport) -> Iterator[str]:
    yield "## Instances\n"
    rows = [
        (i.instance_id, words.state(i.status), i.reason, i.verdict or "-", words.score(i.score), _cost(i), _time(i))
        for i in report.instances
    ]
    yield from _table(["Instance", "Status", "Reason", "Grade", "Score", "Cost", "Time"], rows, numbers=3)


def _cost(instance: InstanceReport) -> str:
    """Return what an instance cost; nothing where nothing was attempted."""
    if instance.cost_usd is None and not instance.attempts and not instance.unknown_costs:
        return "-"
    bound = instance.unknown_costs > 0 or instance.cost_is_lower_bound
    return words.at_least(instance.cost_usd, lower_bound=bound)


def _time(instance: InstanceReport) -> str:
    return words.seconds(instance.seconds) if instance.seconds is not None or instance.attempts else "-"
