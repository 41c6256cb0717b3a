"""README.md of the directory: the official template, with our parts between marks and all else left to its author.

`submit package` writes the template once and never touches a README that is there, so it is laid out here first. The
template's own text is read from the installed package. What stands between the marks is made anew at every export,
what a human has written or ticked outside of them stays; parts that are for a human to tick are written once.
"""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

from obo_bench.core.files import write_text

README_NAME = "README.md"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BARE = "# {{ submission_id }}\n"
"""Stands in where the installed package has no template."""


def write_readme(dest: Path, blocks: Mapping[str, list[str]], once: Mapping[str, list[str]]) -> None:
    """Put the blocks, by the heading that they belong under, into the README; those of `once` only if they are missing.

    Raises OSError.
    """
    path = dest / README_NAME
    before = path.read_text("utf-8", "surrogateescape") if path.is_file() else None
    text = _template(dest.resolve().name) if before is None else before
    for heading, lines in blocks.items():
        text = _with_block(text, heading, lines)
    for heading, lines in once.items():
        text = text if _block(heading).search(text) else _with_block(text, heading, lines)
    if text != before:
        write_text(path, text)


def _template(submission_id: str) -> str:
    spec = importlib.util.find_spec("programbench")
    place = Path(spec.origin).parent / "data" / "templates" / "README.md.j2" if spec and spec.origin else None
    text = place.read_text("utf-8") if place is not None and place.is_file() else _BARE
    return _PLACEHOLDER.sub(lambda found: submission_id if found[1] == "submission_id" else "TODO", text)


def _with_block(text: str, heading: str, lines: list[str]) -> str:
    begin, end = _marks(heading)
    block = "\n".join([begin, "", *lines, "", end])
    standing = _block(heading).search(text)
    if standing is not None:
        return text[: standing.start()] + block + text[standing.end() :]
    title = re.search(rf"^## {re.escape(heading)}[ \t]*(?:\r?\n|\Z)", text, re.MULTILINE)
    if title is None:
        return f"{text.rstrip()}\n\n## {heading}\n\n{block}\n"
    return f"{text[: title.end()].rstrip()}\n\n{block}\n{text[title.end() :]}"


def _block(heading: str) -> re.Pattern[str]:
    """A mark is a whole line: foreign text never is, so that it can neither end a block nor stand for one."""
    begin, end = map(re.escape, _marks(heading))
    return re.compile(rf"^{begin}\r?$.*?^{end}(?=\r?$)", re.MULTILINE | re.DOTALL)


def _marks(heading: str) -> tuple[str, str]:
    return f"<!-- obo-bench: {heading} -->", f"<!-- obo-bench: end of {heading} -->"
