"""The figures of a gate against numbers computed by hand."""

import itertools
import math
from fractions import Fraction

import pytest

from obo_bench.programbench.gating.comparison import Pair, compare
from obo_bench.programbench.gating.scores import Score
from obo_bench.programbench.gating.statistics import bootstrap_interval, effect_size, mean


def fractions(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


def pairs(*scores: tuple[str, str]) -> list[Pair]:
    return [Pair(Score(Fraction(run)), Score(Fraction(other))) for run, other in scores]


def test_the_mean_is_exact() -> None:
    assert mean(fractions("1/3", "1/2", "1/6")) == Fraction(1, 3)
    assert mean([]) is None


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        # mean 0.2, deviations -0.1, 0, 0.1: standard deviation sqrt(0.02 / 2) = 0.1
        (("0.1", "0.2", "0.3"), 2.0),
        # mean -1/4, deviations -3/4 and 3/4: standard deviation sqrt(9/8) = 1.0606601717798212
        (("-1", "1/2"), -0.23570226039551584),
        # mean 1/48, squared deviations 121, 1, 9 and 169 of 2304: their sum by 3 is 300/6912, its root 0.2083333
        (("1/4", "0", "1/12", "-1/4"), 0.1),
        (("0.1", "0.1", "0.1"), None),
        (("0.5",), None),
        ((), None),
    ],
)
def test_the_effect_size_is_the_mean_by_the_standard_deviation(
    differences: tuple[str, ...], expected: float | None
) -> None:
    found = effect_size(fractions(*differences))
    assert found == (expected if expected is None else pytest.approx(expected, abs=1e-12))


def test_equal_differences_have_no_effect_size_whatever_floats_make_of_them() -> None:
    assert effect_size([Fraction("0.3") - Fraction("0.1"), Fraction("0.5") - Fraction("0.3")]) is None


def test_a_comparison_counts_by_hand() -> None:
    found = compare(pairs(("1", "1"), ("1", "1/2"), ("1/4", "1"), ("1/4", "1/2"), ("0", "1/2")))
    assert (found.pairs, found.run_mean, found.other_mean) == (5, 0.5, 0.7)
    assert found.mean_difference == pytest.approx(-0.2)
    assert found.at_least is False
    assert (found.better, found.equal, found.worse) == (1, 1, 3)
    resolved = (found.both_resolved, found.only_run_resolved, found.only_other_resolved, found.neither_resolved)
    assert resolved == (1, 1, 1, 2)


def test_nothing_to_compare_is_told_as_nothing() -> None:
    found = compare([])
    assert (found.pairs, found.run_mean, found.other_mean, found.mean_difference) == (0, None, None, None)
    assert (found.at_least, found.effect_size_dz, found.interval) == (None, None, None)


def test_at_least_is_decided_on_exact_fractions() -> None:
    """As floats, 0.1 + 0.2 is more than 0.3, and a difference of 1e-30 is none."""
    assert compare(pairs(("0.3", "0.1"), ("0", "0.2"))).at_least is True
    assert compare(pairs(("0.3", "0.3"), ("0", "1e-30"))).at_least is False


def test_the_interval_of_two_differences_is_from_one_to_the_other() -> None:
    """A quarter of all resamples has the first one twice, a quarter the second: more than the cut of 2.5 %."""
    found = bootstrap_interval(fractions("-0.5", "0.25"))
    assert found is not None
    assert (found.low, found.high) == (-0.5, 0.25)
    assert bootstrap_interval(fractions("0.5")) is None


def test_the_interval_is_that_of_all_resamples() -> None:
    differences = fractions("0", "1/10", "3/10", "7/10", "1")
    every = sorted(math.fsum(map(float, chosen)) / 5 for chosen in itertools.product(differences, repeat=5))
    found = bootstrap_interval(differences)
    assert found is not None
    # by enumeration of all 3125; sampling error moves a percentile by one of its few steps at most
    assert every[len(every) * 15 // 1000] <= found.low <= every[len(every) * 35 // 1000]
    assert every[len(every) * 965 // 1000] <= found.high <= every[len(every) * 985 // 1000]


def test_the_interval_is_the_same_every_time_and_another_for_another_seed() -> None:
    differences = [Fraction(n * n % 17, 17) for n in range(20)]
    first, again = bootstrap_interval(differences), bootstrap_interval(differences)
    assert first == again
    assert bootstrap_interval(differences, seed=1) != first


@pytest.mark.parametrize("size", [2, 5, 20, 60])
def test_the_interval_holds_the_mean_and_stays_among_the_differences(size: int) -> None:
    differences = [Fraction((n * 7919) % 101 - 50, 50) for n in range(size)]
    found, centre = bootstrap_interval(differences, resamples=2000), mean(differences)
    assert found is not None
    assert centre is not None
    assert float(min(differences)) <= found.low <= float(centre) <= found.high <= float(max(differences))


def test_the_interval_of_equal_differences_is_a_point() -> None:
    found = bootstrap_interval(fractions("0.1", "0.1", "0.1"))
    assert found is not None
    assert found.low == found.high == pytest.approx(0.1, abs=1e-15)
