"""Records of `grade swe-bench-pro`: verdicts about results that lie elsewhere, without server, checkout or money."""

from collections.abc import Mapping
from typing import Any

GRADER = "grade swe-bench-pro"
"""What the manifests of such records call their command."""
UNGRADED = (
    "At least one submitted instance has no verdict; it counts in the denominator.",
    "mend what the failures below name, then grade again",
)
"""What it means that a grader left an instance without a verdict, and what to do."""
NOT_NEEDED = "A grader needs no server and no checkout, and solves nothing."
"""Why nothing is on record of either."""
_REMEDIES: Mapping[str, str] = {
    "instance_not_in_dataset": "the raw sample has no such instance: name the raw sample that it is of (--raw-sample)",
    "no_official_output": "nothing was scored: evaluate it officially, then grade again",
    "output_unparseable": "the official output cannot be read: evaluate it officially again, then grade again",
    "no_required_tests": "the raw sample names no test of it, or not readably: no verdict is possible with this sample",
}
_NOT_RESOLVED = "the official output says that a required test did not pass"


def remedy(reason: str) -> str:
    """Return what is known of an instance without the verdict pass, and what can be done; `reason` is its row's."""
    return _REMEDIES.get(reason.partition(":")[0], _NOT_RESOLVED)


def headline(grades: Mapping[str, Any]) -> str:
    """Return the headline of the grades in a manifest, in words; empty without grades."""
    submitted, passed, rate = (grades.get(name) for name in ("submitted", "pass", "headline_raw_pass_at_1_pct"))
    if not isinstance(submitted, int) or not isinstance(passed, int):
        return ""
    told = f"{passed} of {submitted} submitted pass"
    return f"{told}: raw pass@1 {rate:.2f} %" if isinstance(rate, int | float) else told
