"""Why instances did not pass: by reason, the most frequent first."""

from collections.abc import Iterable

from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.report.document.model import InstanceReport
from obo_bench.report.document.parts import Failure

_DONE = ("completed", "skipped")


def failures_of(instances: Iterable[InstanceReport]) -> list[Failure]:
    """Return the reasons of solves without a submission and of grades that are no pass.

    An instance without a submission is told of once, by how its solve ended.
    """
    found: dict[tuple[str, str], list[InstanceReport]] = {}
    for instance in instances:
        if instance.status not in _DONE:
            found.setdefault(("solve", instance.reason), []).append(instance)
        elif instance.verdict not in ("", Verdict.PASS):
            found.setdefault(("grade", instance.grade_reason), []).append(instance)
    failures = [_failure(kind, reason, concerned) for (kind, reason), concerned in found.items()]
    return sorted(failures, key=lambda failure: (-failure.count, failure.kind, failure.reason))


def _failure(kind: str, reason: str, concerned: list[InstanceReport]) -> Failure:
    return Failure(
        kind=kind,
        reason=reason,
        count=len(concerned),
        remedy=concerned[0].remedy,
        instance_ids=[instance.instance_id for instance in concerned],
    )
