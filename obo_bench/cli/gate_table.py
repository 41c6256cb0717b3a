"""What the gate found, as a table for people: one line per task, the means, and the verdict last."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.programbench.gating.gate_result import Comparison, GatedTask, GateResult, TaskScore

_HEAD = ("task", "group", "run", "reference", "baseline", "difference", "")


def table(result: "GateResult") -> str:
    """Return the text; what is foreign in it is printable."""
    rows = [_HEAD, *(_row(task) for task in result.tasks)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *_means(result), *map(printable, _said(result))])


def _row(task: "GatedTask") -> tuple[str, ...]:
    difference = "" if task.difference is None else f"{task.difference:+.4f}"
    scores = (_score(task.run), _score(task.reference), _score(task.baseline))
    said = "" if task.verdict == "pass" else f"{task.verdict}: {printable(task.reason)}"
    return task.instance_id, str(task.group), *scores, difference, said


def _score(score: "TaskScore | None") -> str:
    return "-" if score is None else f"{score.score:.4f}"


def _means(result: "GateResult") -> Iterator[str]:
    yield _mean("reference", result.reference)
    if result.baseline is not None:
        yield _mean("baseline", result.baseline)


def _mean(name: str, found: "Comparison") -> str:
    if not found.pairs:
        return f"{name}: no pairs"
    counts = f"{found.better} better, {found.equal} equal, {found.worse} worse"
    told = f"{name}: {found.pairs} pair(s), mean {found.run_mean:.4f} against {found.other_mean:.4f}, {counts}"
    if found.interval is None:
        return told
    return f"{told}, 95 % interval of the difference {found.interval.low:+.4f} to {found.interval.high:+.4f}"


def _said(result: "GateResult") -> Iterator[str]:
    load = result.load.status
    yield f"load of the host during the evaluation: {load}{' (nothing recorded)' if load == 'unknown' else ''}"
    yield from (f"note: {notice}" for notice in result.notices)
    for reason in result.reasons:
        yield reason.text
        if reason.remedy:
            yield f"  what to do: {reason.remedy}"
    yield f"verdict: {result.verdict}"
