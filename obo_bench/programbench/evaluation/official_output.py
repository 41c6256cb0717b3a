"""Reads the official command's output, to say why an instance got no file. Never a source of a verdict."""

import re
from collections.abc import Iterable
from pathlib import Path

TAIL_BYTES = 8 * 1024
"""How much of each stream goes into `programbench_eval_result.json`."""
_PARSED_BYTES = 8 * 1024 * 1024

WIDE_TABLE = {"COLUMNS": "500", "PYTHONUTF8": "1"}
"""Settings under which the summary table has one line per instance, in UTF-8."""
NOT_A_TERMINAL = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"})
"""Variables that would put colour codes into the table."""


def tail_text(path: Path, limit: int = TAIL_BYTES) -> str:
    """Return the last `limit` bytes of a file as text; empty when it cannot be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - limit))
            return stream.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def exceptions_told(stdout: Path, stderr: Path, instance_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return {instance id: (exception class name, message)} for the instances that the evaluator gave up."""
    table = tail_text(stdout, _PARSED_BYTES)
    spoken = tail_text(stderr, _PARSED_BYTES)
    told: dict[str, tuple[str, str]] = {}
    for instance_id in instance_ids:
        name = re.escape(instance_id)
        row = re.search(rf"^\s*{name}\s+\S+\s+ERROR: (\w+)\s*$", table, re.MULTILINE)
        if row:
            words = re.search(rf"Error evaluating {name}: ([^\r\n]*)", spoken)
            told[instance_id] = (row[1], words[1].strip() if words else "")
    return told
