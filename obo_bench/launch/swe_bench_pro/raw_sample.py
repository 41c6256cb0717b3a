"""The benchmark's raw sample: which tests an instance must pass.

One JSON object a line (or all in one list) with `instance_id`, `FAIL_TO_PASS` and `PASS_TO_PASS`. The two names may
be in lower case, and each value is a list, the JSON text of one, or the Python text of one.
"""

import ast
import json
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.swe_bench_pro.records import Record, UnusableRecords, read_records

LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
"""The columns that together name the required tests."""
LARGEST_LITERAL = 16 * 1024 * 1024
"""Characters of the longest Python text that is taken for a list: its syntax tree takes about a hundred times that."""


@dataclass(frozen=True)
class RequiredTests:
    """What one instance must pass."""

    names: frozenset[str] = frozenset()
    """Names of both lists."""
    problem: str = ""
    """Why they are not known; empty where they are."""


@dataclass(frozen=True)
class RawSample:
    """The rows that were asked for."""

    sha256: str
    """SHA-256 of the file's bytes."""
    required: dict[str, RequiredTests] = field(default_factory=dict)
    """By instance id; what is not in the data set is not in here."""


def read_raw_sample(path: Path, wanted: Collection[str]) -> RawSample:
    """Return what the wanted instances must pass; raises PreflightRefused `raw_sample_unreadable`.

    A wanted row whose lists cannot be read is kept with its problem: it must not take the other ones along.
    """
    required: dict[str, RequiredTests] = {}
    rows = 0
    try:
        sha256, records = read_records(path)
        for record in records:
            rows += 1
            if (instance_id := record.instance_id()) in wanted:
                tests = required_tests(record)
                required[instance_id] = _one_of(required.get(instance_id, tests), tests)
        if not rows:
            raise UnusableRecords("there is no row in it")
    except UnusableRecords as error:
        raise PreflightRefused(
            "raw_sample_unreadable",
            f"--raw-sample {str(path)!r}: {error}",
            evidence={"raw_sample": str(path), "problem": str(error)},
        ) from error
    return RawSample(sha256, required)


def required_tests(record: Record) -> RequiredTests:
    """Return what a row asks for, or why that is not known."""
    try:
        return RequiredTests(frozenset(name for column in LISTS for name in _column(record, column)))
    except UnusableRecords as error:
        return RequiredTests(problem=str(error))


def _one_of(first: RequiredTests, second: RequiredTests) -> RequiredTests:
    return first if first == second else RequiredTests(problem="the raw sample has two different rows of it")


def _column(record: Record, column: str) -> list[str]:
    given = [record.fields[name] for name in (column, column.lower()) if name in record.fields]
    if not given:
        raise UnusableRecords(f"{record.place}: there is no {column}")
    lists = [_names(record.place, column, value) for value in given]
    if lists[0] != lists[-1]:
        raise UnusableRecords(f"{record.place}: {column} and {column.lower()} differ")
    return lists[0]


def _names(place: str, column: str, value: object) -> list[str]:
    names = _of_text(value) if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UnusableRecords(f"{place}: {column} is not a list of texts, nor the text of one")
    return names


def _of_text(text: str) -> Any:
    """Return the value that a text writes out, None where it is neither JSON nor a Python literal."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > LARGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            # A test's name may hold what looks like a wrong escape to Python; that is not the operator's business.
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
