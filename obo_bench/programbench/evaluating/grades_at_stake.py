"""Keeps an evaluation from taking away grades that it cannot replace."""

from collections.abc import Mapping
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.evaluation.eval_files import proven
from obo_bench.programbench.evaluation.evaluator_program import EvaluatorIdentity

_MOST_NAMED = 3


def require_replaceable(run_root: Path, hashes: Mapping[str, str], evaluator: EvaluatorIdentity) -> None:
    """Raise PreflightRefused `grades_at_stake` where an instance is graded and the evaluator has no such task.

    A grade counts when an official file is proven to belong to this very archive. Whatever is selected now, the
    summary is written anew for the whole run, and would hold such an instance as ungraded.
    """
    lost = [
        name
        for name, sha256 in hashes.items()
        if evaluator.tests(name) is None and proven(run_root, name, {"submission_sha256": sha256}) is not None
    ]
    if lost:
        named = ", ".join(lost[:_MOST_NAMED]) + (f" and {len(lost) - _MOST_NAMED} more" if lost[_MOST_NAMED:] else "")
        raise PreflightRefused(
            "grades_at_stake",
            f"{len(lost)} graded instance(s) of the run are unknown to this evaluator, programbench "
            f"{evaluator.version} in {str(evaluator.tasks_dir)!r}, which could only take their grades away: {named}",
            evidence={"instances": lost, "programbench": evaluator.version, "tasks_dir": str(evaluator.tasks_dir)},
        )
