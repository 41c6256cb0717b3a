"""The file that holds what the agent is told."""

from pathlib import Path

from obo_bench.core.peek import peek
from obo_bench.core.refusals import PreflightRefused

LARGEST_INSTRUCTION = 1 << 20
"""Bytes; the instruction of `run` has some thousand, and the server repeats it in every record of the task."""


def read_instruction(path: Path) -> str:
    """Return the text of an instruction file, without a byte order mark and otherwise as it is.

    Raises PreflightRefused `instruction_unreadable` naming the problem.
    """
    try:
        data = peek(path, LARGEST_INSTRUCTION + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if len(data) > LARGEST_INSTRUCTION:
        raise _unreadable(path, f"it has more than {LARGEST_INSTRUCTION} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line}: it is not UTF-8: {error.reason}") from error
    if not text.strip():
        raise _unreadable(path, "it is blank")
    return text


def _unreadable(path: Path, why: str) -> PreflightRefused:
    return PreflightRefused(
        "instruction_unreadable",
        f"--instruction-file {str(path)!r} cannot be used: {why}",
        evidence={"instruction_file": str(path), "why": why},
    )
