"""A campaign file of which not everything can be read: what is wrong with it, and the rest, to be looked at as well."""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from obo_bench.launch.campaign.plan import Plan
from obo_bench.launch.campaign.plan_file import Problem, explained, tables_of, with_tuples

_WHOLE = frozenset({"id", "kind", "command", "options"})
"""Keys of a step without which nothing can be said of the rest of it."""


def read_partly(file: Path, data: bytes) -> tuple[Plan | None, list[Problem]]:
    """Return the plan as far as it can be read, None where nothing can, and what stands against the rest.

    Raises PreflightRefused `campaign_invalid` for what is no TOML.
    """
    tables = tables_of(file, data)
    try:
        return Plan.model_validate(with_tuples(tables)), []
    except ValidationError as error:
        wrong = [each["loc"] for each in error.errors(include_url=False)]
        return _rest(tables, wrong), list(explained(error, tables))


def _rest(tables: dict[str, Any], wrong: Iterable[tuple[int | str, ...]]) -> Plan | None:
    left = copy.deepcopy(tables)
    lost: set[int] = set()
    for place in wrong:
        match place:
            case ("steps", int(number), str(key), *_) if key not in _WHOLE:
                left["steps"][number].pop(key, None)
            case ("steps", int(number), *_):
                lost.add(number)
            case ("campaign", str(key), *_):
                left["campaign"].pop(key, None)
            case (str(key), *_):
                left.pop(key, None)
    if isinstance(left.get("steps"), list):
        left["steps"] = _steps(left["steps"], lost)
    try:
        return Plan.model_validate(with_tuples(left))
    except ValidationError:
        return None


def _steps(steps: list[Any], lost: set[int]) -> list[Any]:
    """Return the steps that can be read, without what they need of the others: that is not wrong because of them."""
    names = {step.get("id") for number, step in enumerate(steps) if number in lost and isinstance(step, dict)}
    kept = [step for number, step in enumerate(steps) if number not in lost]
    for step in kept:
        if isinstance(step.get("needs"), list):
            step["needs"] = [need for need in step["needs"] if need not in names]
        if not step.get("needs"):
            step.pop("on", None)
    return kept
