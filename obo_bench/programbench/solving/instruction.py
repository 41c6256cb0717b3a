"""The task as the agent reads it: a template that ships with the package, filled from the rules that really apply.

The same arguments give the same text.
"""

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from obo_bench.programbench.packaging.collection_rules import (
    COMPILE_SCRIPT,
    DEFAULT_PROTECTED_PATHS,
    EXCLUSION_TEXTS,
    PROGRAM_NAME,
    REFERENCE_NAME,
    TESTS_DIRECTORY,
    WORKSPACE,
    Exclusion,
)

COMPILE_LIMIT_SEC = 900
"""Seconds after which the official evaluator ends compile.sh."""


def render_instruction(*, timeout_sec: float, protected_paths: Sequence[str] = DEFAULT_PROTECTED_PATHS) -> str:
    """Return the instruction for a task of `timeout_sec` seconds whose protected paths are the given ones."""
    template = Template(files(__package__).joinpath("instruction.md").read_text(encoding="utf-8"))
    return template.substitute(
        workspace=WORKSPACE,
        reference=REFERENCE_NAME,
        program=PROGRAM_NAME,
        tests=TESTS_DIRECTORY,
        compile_script=COMPILE_SCRIPT,
        compile_limit=COMPILE_LIMIT_SEC,
        time_limit=_duration(timeout_sec),
        protected=", ".join(f"`{path}`" for path in protected_paths) or "none besides the reference",
        excluded="\n".join(f"* {text}" for text in exclusion_lines(protected_paths)),
    )


def exclusion_lines(protected_paths: Sequence[str]) -> list[str]:
    """Return what is left out of the archive, one line for each rule, with the protected paths named."""
    listed = ", ".join(f"`{path}`" for path in protected_paths)
    return [
        f"{text} ({listed})" if rule is Exclusion.PROTECTED and listed else text
        for rule, text in EXCLUSION_TEXTS.items()
    ]


def _duration(seconds: float) -> str:
    """Return a time in words, exact to the second."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    amounts = [(hours, "hour"), (minutes, "minute"), (rest, "second")]
    return " ".join(f"{amount} {unit}{'' if amount == 1 else 's'}" for amount, unit in amounts if amount) or "0 seconds"
