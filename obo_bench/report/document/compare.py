"""Two runs side by side: the instances that both have a score for, one by one."""

from collections.abc import Sequence

from obo_bench.report.document.asked import run_facts
from obo_bench.report.document.figures import money_of
from obo_bench.report.document.instances import instances_of
from obo_bench.report.document.model import ComparedRun, InstanceReport, Pair
from obo_bench.report.document.parts import Money
from obo_bench.report.document.record import RunRecord


def compared_with(instances: Sequence[InstanceReport], money: Money, other: RunRecord, now: float) -> ComparedRun:
    """Return the paired differences; an instance that only one of the runs has a score for is listed, not counted."""
    here = {instance.instance_id: instance for instance in instances}
    others = instances_of(other)
    there = {instance.instance_id: instance for instance in others}
    rows = [_pair(iid, here.get(iid), there.get(iid)) for iid in dict.fromkeys([*here, *there])]
    paired = [row for row in rows if row.difference is not None]
    differences = [row.difference for row in paired if row.difference is not None]
    return ComparedRun(
        other=run_facts(other, now),
        pairs=len(paired),
        mean=_mean([row.score for row in paired if row.score is not None]),
        other_mean=_mean([row.other_score for row in paired if row.other_score is not None]),
        mean_difference=_mean(differences),
        better=sum(difference > 0 for difference in differences),
        equal=differences.count(0),
        worse=sum(difference < 0 for difference in differences),
        unpaired=sum((row.score is None) != (row.other_score is None) for row in rows),
        money=money,
        other_money=money_of(other, others),
        rows=rows,
    )


def _pair(instance_id: str, here: InstanceReport | None, there: InstanceReport | None) -> Pair:
    score, other = (side.score if side else None for side in (here, there))
    return Pair(
        instance_id=instance_id,
        score=score,
        other_score=other,
        difference=None if score is None or other is None else score - other,
        cost_usd=here.cost_usd if here else None,
        other_cost_usd=there.cost_usd if there else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
