"""Every message to an operator is read as one text: it names the value, says why and what to do, and sounds alike."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import obo_bench
from obo_bench.core.refusal_meanings import MEANINGS
from obo_bench.core.refusal_reasons import REASONS

PACKAGE = Path(obo_bench.__file__).parent
REFUSALS = {
    *("Refusal", "PreflightRefused", "BenchmarkAdmissionRefused", "SeedShapeRefused", "RuntimeAttestationRefused"),
    "Objection",
}
USAGE = {"UsageError", "BadParameter"}
JARGON = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b|\b(?:seam|objection|wire model|dataclass|traceback|None)\b")
"""Names of classes, and words that only the code uses."""
NO_JARGON = frozenset({"ProgramBench", "OpenRouter"})


def text_of(node: ast.expr) -> str | None:
    """Return a message as it is written, each inserted value as {}; None for one that is put together elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def messages(kinds: set[str]) -> Iterator[tuple[str, str]]:
    """Yield place and text of every message that is raised as one of these kinds."""
    for module in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name not in kinds or len(node.args) < (2 if kinds is REFUSALS else 1):
                continue
            given = [node.args[1 if kinds is REFUSALS else 0], *(one.value for one in node.keywords)]
            for text in filter(None, map(text_of, given)):
                yield f"{module.relative_to(PACKAGE)}:{node.lineno}", text


def all_texts() -> Iterator[tuple[str, str]]:
    yield from messages(REFUSALS)
    yield from messages(USAGE)
    for name, reason in REASONS.items():
        yield f"remedy of {name}", reason.remedy
        yield f"meaning of {name}", MEANINGS[name]


def faults(text: str) -> list[str]:
    """Return what is wrong with a message as a piece of text."""
    jargon = set(JARGON.findall(text)) - NO_JARGON
    return [
        *(["ends with a full stop"] if re.search(r"(?<!\.\.)[.!]$", text) else []),
        *(["has two blanks"] if "  " in text else []),
        *(["begins with a capital"] if re.match(r"[A-Z][a-z]", text) else []),
        *([f"uses jargon {jargon}"] if jargon else []),
    ]


def test_messages_sound_alike() -> None:
    found = {place: (wrong, text) for place, text in all_texts() if (wrong := faults(text))}
    assert found == {}


@pytest.mark.parametrize("text", ["it failed.", "two  blanks", "Cannot do it", "a PreflightRefused was raised"])
def test_messages_that_do_not_would_be_noticed(text: str) -> None:
    assert faults(text)


def test_every_usage_error_names_what_was_given_and_what_to_give() -> None:
    for place, text in messages(USAGE):
        assert re.search(r"[:;,(]|\{\}", text), f"{place} says no remedy: {text}"
        named = "{}" in text or re.search(r"--?[a-z]|`--`|[a-z]_[a-z]|\b[A-Z]{3,}\b|it is empty", text)
        assert named, f"{place} names no value: {text}"


def test_every_reason_has_a_remedy_that_says_what_to_do() -> None:
    assert {name for name, reason in REASONS.items() if len(reason.remedy.split()) < 3} == set()
