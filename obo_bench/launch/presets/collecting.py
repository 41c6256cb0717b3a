"""Gather results: one for each instance, a bounded number of them, each with an id that can be one."""

import re
from dataclasses import replace
from typing import Any

from obo_bench.gateway.foreign_json import excerpt
from obo_bench.launch.presets.preset import Harvest, Result
from obo_bench.launch.presets.problems import Problems

MOST_RESULTS = 100_000
LONGEST_ID = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
"""What a file name that is no UTF-8 becomes, and no document can hold."""
_LONGEST_WORD = 100


class Collected:
    """The results of one launcher; of an instance that comes up again the last result counts."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        """Where what is wrong is told."""
        self.results: dict[str, Result] = {}
        """The results so far, by instance."""

    def add(self, result: Result) -> None:
        """Take one result; more than 100,000 instances are told and left out."""
        if len(self.results) >= MOST_RESULTS and result.instance_id not in self.results:
            self.problems.tell(f"there are results of more than {MOST_RESULTS} instances: the rest was not taken")
        else:
            places = {
                what: _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", path) for what, path in result.output_paths.items()
            }
            self.results[result.instance_id] = replace(result, output_paths=places)

    def harvest(self) -> Harvest:
        """Return everything."""
        return Harvest(tuple(self.results.values()), self.problems.texts())


def instance_id_of(value: Any) -> str | None:
    """Return the id that a foreign value is, or None when it cannot be one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or len(value) > LONGEST_ID or _CONTROL.search(value) or _SURROGATE.search(value):
        return None
    return value.strip() or None


def word(value: Any) -> str:
    """Return a launcher's own word for a reason, verbatim but bounded and on one line; empty when it is none."""
    if not isinstance(value, str):
        return ""
    return _CONTROL.sub(" ", value).strip()[:_LONGEST_WORD]


def one_line(value: Any) -> str:
    """Return an error text as one bounded line; empty when there is none."""
    text = value if isinstance(value, str) else "" if value is None else str(excerpt(value))
    return " ".join(_CONTROL.sub(" ", text[:2000]).split())[:500]


def details_of(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the named fields of a foreign row that are there, bounded."""
    return {name: excerpt(row[name]) for name in names if row.get(name) is not None}


def number(value: Any) -> float | None:
    """Return a finite number, or None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
