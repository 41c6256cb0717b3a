"""Read a campaign file: TOML into a plan, or what is wrong with it in words an operator can act on."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from obo_bench.core.files import open_regular
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why
from obo_bench.launch.campaign.plan import CampaignTable, Plan, StepTable

LARGEST_FILE = 1 << 20
"""Bytes of a campaign file that is read."""
_KEYS = {
    "the file": list(Plan.model_fields),
    "[campaign]": list(CampaignTable.model_fields),
    "[[steps]]": list(StepTable.model_fields),
}
_SHOWN = 100
_NAME = "name a campaign file that can be read"
_CORRECT = "correct it: what else there is can only be told of TOML"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a campaign file."""

    table: str
    """Where: `[campaign]`, or `[[steps]] trial`; empty for the file as a whole."""
    key: str
    """Which key; empty for the table as a whole."""
    text: str
    """What is wrong, why, and what to do."""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.table, self.key, self.text) if part)


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a campaign file; raises PreflightRefused `campaign_invalid`."""
    try:
        with open_regular(file) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise refused(file, [Problem("", "", f"cannot be read: {why(error)}")], _NAME) from error
    if len(data) > LARGEST_FILE:
        raise refused(file, [Problem("", "", f"is larger than {LARGEST_FILE} bytes: it is no campaign")], _NAME)
    return data


def parse_plan(file: Path, data: bytes) -> Plan:
    """Return the plan in `data`, the contents of `file`; raises PreflightRefused `campaign_invalid`."""
    tables = tables_of(file, data)
    try:
        return Plan.model_validate(with_tuples(tables))
    except ValidationError as error:
        raise refused(file, list(explained(error, tables))) from error


def tables_of(file: Path, data: bytes) -> dict[str, Any]:
    """Return the TOML in `data`, the contents of `file`; raises PreflightRefused `campaign_invalid`."""
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refused(file, [Problem("", "", f"is not TOML: {error}")], _CORRECT) from error


def refused(file: Path, problems: Sequence[Problem], remedy: str | None = None) -> PreflightRefused:
    """Return the refusal of a file with these problems, of which there is at least one."""
    told = [str(problem) for problem in problems]
    return PreflightRefused(
        "campaign_invalid",
        f"{str(file)!r}: {told[0]}" if len(told) == 1 else "\n  ".join([f"{str(file)!r}:", *told]),
        evidence={"file": str(file), "problems": told},
        remedy=remedy,
    )


def near(word: str, known: Sequence[str]) -> str:
    """Return a hint at what was meant, or at what there is."""
    found = [name for name in known if name == f"{word}s"] or difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(found)}?" if found else f"there are {', '.join(known)}"


def with_tuples(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables as a plan is validated.

    TOML has lists where a plan, which nobody changes, has tuples; strict validation tells them apart.
    """
    steps = tables.get("steps")
    if not isinstance(steps, list):
        return tables
    return tables | {"steps": tuple(_step(step) if isinstance(step, dict) else step for step in steps)}


def _step(step: dict[str, Any]) -> dict[str, Any]:
    lists = {name for name in ("needs", "on", "command") if isinstance(step.get(name), list)}
    return step | {name: tuple(step[name]) for name in lists}


def explained(error: ValidationError, tables: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the tables, in words."""
    told = error.errors(include_url=False)
    # A list of which no step could be read looks empty, too.
    for found in [each for each in told if each["type"] != "too_short"] or told:
        table, kind, key = _place(found["loc"], tables)
        yield Problem(table, key, _text(found, kind, key))


def _place(location: tuple[int | str, ...], tables: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the table for people, the sort of table, and the key, of a place as pydantic names it."""
    match location:
        case ("campaign", *rest) if rest:
            return "[campaign]", "[campaign]", _dotted(rest)
        case ("steps", int(number), *rest):
            return f"[[steps]] {_name(tables, number)}", "[[steps]]", _dotted(rest)
    return "", "the file", _dotted(location)


def _name(tables: Mapping[str, Any], number: int) -> str:
    step = tables["steps"][number]
    name = step.get("id") if isinstance(step, dict) else None
    return repr(name)[:_SHOWN] if isinstance(name, str) else f"number {number + 1}"


def _dotted(location: Sequence[int | str]) -> str:
    return ".".join(map(str, location))[:_SHOWN]


def _text(found: Any, kind: str, key: str) -> str:
    match found["type"]:
        case "extra_forbidden":
            hint = "; options of its command go into its table options" if kind == "[[steps]]" else ""
            return f"there is no such key in {kind}: {near(key, _KEYS[kind])}{hint}"
        case "missing":
            return f"is missing: {kind} needs it"
        case "string_pattern_mismatch":
            return (
                f"{found['input']!r:.{_SHOWN}} is no name of a step: use lower-case letters, digits, '-' and '_' "
                "(at most 40)"
            )
        case "literal_error" if isinstance(found["input"], str):
            known = [word.strip("' ") for word in found["ctx"]["expected"].replace(" or ", ", ").split(",")]
            return f"{found['input']!r:.{_SHOWN}} is none: {near(found['input'], known)}"
    return f"{found['input']!r:.{_SHOWN}} does not fit: {found['msg'][0].lower()}{found['msg'][1:]}"
