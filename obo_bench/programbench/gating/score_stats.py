"""Reads an official `_stats/score.json`, the form of the public leaderboard: {task: {"branch/test": passed}}.

The file was filtered by the package that wrote it. Tests that the installed package does not count (of inactive
branches, or ignored) are struck out, as the official scoring would do with the evaluation itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from obo_bench.programbench.evaluation.grading import ScoringPlan
from obo_bench.programbench.gating.scores import Score


def parse_stats(
    document: Mapping[str, Any], known: Collection[str], wanted: Collection[str], plan_of: Callable[[str], ScoringPlan]
) -> dict[str, Score]:
    """Return the scores of the wanted tasks; raises ValueError that names the task for anything of another shape."""
    for instance_id, tests in document.items():
        if instance_id not in known:
            raise ValueError(f"the benchmark has no task {instance_id[:100]!r}")
        if not isinstance(tests, dict) or not all(isinstance(passed, bool) for passed in tests.values()):
            raise ValueError(f'{instance_id}: not a mapping of "branch/test" to true or false')
    return {iid: _score(iid, document[iid], plan_of(iid)) for iid in wanted if iid in document}


def _score(instance_id: str, tests: Mapping[str, bool], plan: ScoringPlan) -> Score:
    counted = [passed for name, passed in tests.items() if _counts(name, plan)]
    if tests and not counted:
        raise ValueError(
            f"{instance_id}: the installed package counts none of its {len(tests)} tests; it is of another version"
        )
    return Score.of_counts(sum(counted), len(counted))


def _counts(full_name: str, plan: ScoringPlan) -> bool:
    branch, separator, _ = full_name.partition("/")
    return full_name not in plan.ignored_tests and (not separator or branch in plan.active_branches)


def load_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`; raises ValueError or RecursionError, also for a name that is there twice."""
    document = json.loads(data, object_pairs_hook=_distinct)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    return document


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"{twice[:100]!r} is there twice")
    return found
