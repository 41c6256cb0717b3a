"""Scores as the gate compares them: exact fractions, so that no rounding decides about money."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from obo_bench.core.refusals import PreflightRefused


@dataclass(frozen=True)
class Score:
    """The official score of one task."""

    value: Fraction
    """From 0 to 1."""
    passed: int | None = None
    """Tests passed; None where only the score is known."""
    counted: int | None = None
    """Tests that count; None likewise."""
    tests_digest: str | None = None
    """What identifies the tests; None where nothing tells it."""

    @classmethod
    def of_counts(cls, passed: int, counted: int, tests_digest: str | None = None) -> "Score":
        """Return the official score: passed by counted, 0 where no test counts."""
        return cls(Fraction(passed, counted) if counted else Fraction(0), passed, counted, tests_digest)

    @property
    def resolved(self) -> bool:
        """Official: the score is exactly 1."""
        return self.value == 1


@dataclass(frozen=True)
class InputFile:
    """One file that the verdict rests on."""

    role: str
    """What it was to the gate."""
    path: str
    """Where it was."""
    format: str
    """What its content turned out to be."""
    sha256: str
    """SHA-256 of the bytes that were read."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of a reference or baseline."""

    source: InputFile
    """Where they come from."""
    scores: Mapping[str, Score]
    """By instance id."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Why a task that is in there has no score."""


def unreadable(role: str, path: object, problem: str, **evidence: object) -> PreflightRefused:
    """Return the refusal of a file of scores; `role` is the option that named it."""
    return PreflightRefused(
        "scores_unreadable",
        f"--{role} {str(path)!r}: {problem}",
        evidence={"role": role, "path": str(path), "problem": problem, **evidence},
    )
