"""Compares the run's scores with another system's, task by task."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from obo_bench.programbench.gating.gate_result import BootstrapInterval, Comparison
from obo_bench.programbench.gating.scores import Score
from obo_bench.programbench.gating.statistics import (
    BOOTSTRAP_RESAMPLES,
    BOOTSTRAP_SEED,
    CONFIDENCE,
    bootstrap_interval,
    effect_size,
    mean,
)


@dataclass(frozen=True)
class Pair:
    """One task that both have a score for."""

    run: Score
    """The run's."""
    other: Score
    """The other's."""

    @property
    def difference(self) -> Fraction:
        """Run less other, exactly."""
        return self.run.value - self.other.value


def compare(pairs: Sequence[Pair]) -> Comparison:
    """Return means, spread and counts; whether the run is at least as good is decided on exact fractions."""
    run, other = (mean([getattr(pair, side).value for pair in pairs]) for side in ("run", "other"))
    differences = [pair.difference for pair in pairs]
    resolved = [(pair.run.resolved, pair.other.resolved) for pair in pairs]
    return Comparison(
        pairs=len(pairs),
        run_mean=_rounded(run),
        other_mean=_rounded(other),
        mean_difference=_rounded(mean(differences)),
        at_least=None if run is None or other is None else run >= other,
        effect_size_dz=effect_size(differences),
        interval=_interval(differences),
        better=sum(difference > 0 for difference in differences),
        equal=sum(difference == 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        both_resolved=resolved.count((True, True)),
        only_run_resolved=resolved.count((True, False)),
        only_other_resolved=resolved.count((False, True)),
        neither_resolved=resolved.count((False, False)),
    )


def _interval(differences: Sequence[Fraction]) -> BootstrapInterval | None:
    found = bootstrap_interval(differences)
    if found is None:
        return None
    return BootstrapInterval(
        low=found.low, high=found.high, confidence=CONFIDENCE, resamples=BOOTSTRAP_RESAMPLES, seed=BOOTSTRAP_SEED
    )


def _rounded(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
