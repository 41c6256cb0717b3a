"""Set members of a JSON object in its text: what is not set stays as it is, to the byte."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Member:
    """One member of the outermost object."""

    name: str
    """Its name."""
    key: int
    """Where the name begins."""
    begin: int
    """Where its value begins."""
    end: int
    """Where its value ends."""


def with_members(text: str, members: Mapping[str, Any]) -> str:
    """Return `text`, which must be a JSON object, with these members set; new ones come last, written like the others.

    Of members with one name the last is set, because it is the one that counts.
    """
    found = list(_members(text))
    last = {member.name: member for member in found}
    inserted = {name: value for name, value in members.items() if name not in last}
    edited = _with_new(text, found, inserted)
    for member in sorted((last[name] for name in members if name in last), key=lambda each: -each.begin):
        edited = edited[: member.begin] + _dumps(members[member.name]) + edited[member.end :]
    return edited


def _with_new(text: str, found: list[_Member], members: Mapping[str, Any]) -> str:
    """Insert behind the last member, which leaves every earlier place where it is."""
    if not members:
        return text
    if not found:
        inside = text.index("{") + 1
        lines = ",".join(f"\n  {_dumps(name)}: {_dumps(value)}" for name, value in members.items())
        return f"{text[:inside]}{lines}\n{text[text.rindex('}') :]}"
    before = _before(text, found)
    lines = "".join(f",{before}{_dumps(name)}: {_dumps(value)}" for name, value in members.items())
    return text[: found[-1].end] + lines + text[found[-1].end :]


def _before(text: str, found: list[_Member]) -> str:
    """Return the blanks in front of a member: the line's end and the indentation that the file has, if it has any."""
    blanks = [text[len(text[: each.key].rstrip(" \t\r\n")) : each.key] for each in found]
    return next((each for each in reversed(blanks) if "\n" in each), blanks[-1])


def _members(text: str) -> Iterator[_Member]:
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, end) + 1)
        _, stop = _DECODER.raw_decode(text, begin)
        yield _Member(name, at, begin, stop)
        at = _skip(text, stop)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
