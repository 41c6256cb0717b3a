"""Reads scores from CSV: `id,score` a line, scores from 0 to 1, a header of these names allowed."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from fractions import Fraction

from obo_bench.programbench.gating.scores import Score

_NUMBER = re.compile(r"[0-9]{0,20}\.?[0-9]{0,40}(?:[eE][+-]?[0-9]{1,2})?")
_ID_HEADERS = frozenset({"id", "instance_id"})
_SHOWN = 60


class CsvProblem(ValueError):
    """What is wrong with the file; the message begins with the line."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        """Line number, from 1."""


def parse_csv(data: bytes, known: Collection[str]) -> dict[str, Score]:
    """Return the scores; raises CsvProblem for anything that is not exactly one score of a known task a line."""
    scores: dict[str, Score] = {}
    for line, cells in _rows(_text(data)):
        if len(cells) != 2:
            raise CsvProblem(line, f"{len(cells)} column(s) instead of the two of id,score")
        instance_id, score = cells[0].strip(), cells[1].strip()
        if not scores and instance_id.lower() in _ID_HEADERS and score.lower() == "score":
            continue
        if instance_id not in known:
            raise CsvProblem(line, f"the benchmark has no task {_shown(instance_id)}")
        if instance_id in scores:
            raise CsvProblem(line, f"the task {instance_id} is there twice")
        scores[instance_id] = Score(_number(line, score))
    if not scores:
        raise CsvProblem(1, "there is no score in it")
    return scores


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CsvProblem(data[: error.start].count(b"\n") + 1, "it is not UTF-8") from error


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise CsvProblem(reader.line_num, f"it is not CSV: {error}") from error


def _number(line: int, text: str) -> Fraction:
    if not any(c.isdigit() for c in text) or not _NUMBER.fullmatch(text):
        raise CsvProblem(line, f"the score {_shown(text)} is not a number from 0 to 1")
    value = Fraction(text)
    if value > 1:
        raise CsvProblem(line, f"the score {_shown(text)} is above 1: divide percentages by 100")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
