"""Foreign text in a Markdown file: shown as code, so that it can be no markup, link, mention or HTML."""

import re
from collections.abc import Iterable

from obo_bench.core.reporter import printable

_LONGEST = 300
_BACKTICKS = re.compile(r"`+")


def code(value: object) -> str:
    """Return foreign text as one code span, bounded; what a span cannot hold (controls, bidi marks) is a blank."""
    text = printable(str(value)).strip()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} [cut: {len(text)} characters]"
    if not text:
        return "(empty)"
    fence = "`" * (_longest_run(text) + 1)
    # CommonMark takes off one blank at both ends; without it a backtick would melt into the fence.
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def fenced(lines: Iterable[str], language: str = "") -> list[str]:
    """Return the lines of a code block that no line of its text can end."""
    shown = [printable(line) for line in lines]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return [f"{fence}{language}", *shown, fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
