"""Several tries at one instance: when they have one verdict, and when they do not."""

from collections.abc import Sequence


def verdict_of(verdicts: Sequence[str]) -> str:
    """Return the verdict on which all tries agree; `ungraded` where they do not: their numbers are in the details."""
    return verdicts[0] if len(set(verdicts)) == 1 else "ungraded"


def score_verdict(score: float | None) -> str:
    """Return pass for the full score of 1, fail for less, ungraded without one."""
    if score is None:
        return "ungraded"
    return "pass" if score == 1.0 else "fail"
