"""Paired statistics of a few tasks: exact means, and figures that inform but do not decide."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

BOOTSTRAP_RESAMPLES = 10_000
BOOTSTRAP_SEED = 0
CONFIDENCE = 0.95


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """Return the exact mean, None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


def effect_size(differences: Sequence[Fraction]) -> float | None:
    """Return Cohen's d_z: mean by sample standard deviation (n - 1) of the differences.

    None for fewer than two differences, and where all are equal: there is no spread to measure the mean by.
    """
    centre = mean(differences)
    if centre is None or len(set(differences)) < 2:
        return None
    variance = sum(((value - centre) ** 2 for value in differences), Fraction(0)) / (len(differences) - 1)
    return float(centre) / math.sqrt(variance)


@dataclass(frozen=True)
class Interval:
    """An interval that holds a mean."""

    low: float
    """Its lower end."""
    high: float
    """Its upper end."""


def bootstrap_interval(
    differences: Sequence[Fraction], resamples: int = BOOTSTRAP_RESAMPLES, seed: int = BOOTSTRAP_SEED
) -> Interval | None:
    """Return the percentile interval of the mean difference over resampled tasks; None for fewer than two.

    Tasks are drawn with `random.Random(seed).random()`, whose sequence Python guarantees. Of the sorted means as many
    are cut off at either end: those below the 2.5th and above the 97.5th percentile.
    """
    size = len(differences)
    if size < 2:
        return None
    values = [float(value) for value in differences]
    draw = random.Random(seed).random
    means = sorted(math.fsum(values[int(draw() * size)] for _ in range(size)) / size for _ in range(resamples))
    cut = round(resamples * (1 - CONFIDENCE) / 2)
    return Interval(means[cut], means[-1 - cut])
