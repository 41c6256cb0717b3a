"""What a campaign has spent and may still spend: its ceiling, and the budget preflight of a step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from obo_bench.launch.campaign.resolving import Step
from obo_bench.launch.campaign.step_end import StepEnd


@dataclass(frozen=True)
class Allowance:
    """What a step may cost, or why it may not start."""

    ceiling_usd: float | None
    """What the step is told, in USD; null when nothing bounds it."""
    why_not: str = ""
    """Why it must not start; empty when it may."""


def spent_usd(ends: Mapping[str, StepEnd], without: str = "") -> float:
    """Return the known costs of all steps but one, in USD; that one's own ceiling counts all of its own work."""
    return sum(end.cost_usd or 0.0 for name, end in ends.items() if name != without)


def allowance(step: Step, ends: Mapping[str, StepEnd], ceiling_usd: float | None) -> Allowance:
    """Return what a step may cost, so that even at its worst the campaign's ceiling is kept."""
    own = step.table.max_cost_usd
    if ceiling_usd is None or not step.kind.spends:
        return Allowance(own)
    others = spent_usd(ends, step.id)
    left = ceiling_usd - others
    if left <= 0:
        return Allowance(own, f"the steps have cost {others:.4f} USD, the campaign's ceiling is {ceiling_usd:g}")
    if own is not None and own > left:
        told = f"it may cost up to {own:g} USD, and of the campaign's {ceiling_usd:g} there are {left:.4f} left"
        return Allowance(own, told)
    return Allowance(left if own is None else own)


def worst_case_usd(steps: Sequence[Step], ceiling_usd: float | None) -> float | None:
    """Return what a campaign can cost at most, in USD; None when nothing bounds it."""
    ceilings = [step.table.max_cost_usd for step in steps if step.kind.spends]
    known = [amount for amount in ceilings if amount is not None]
    total = sum(known) if len(known) == len(ceilings) else None
    bounds = [amount for amount in (total, ceiling_usd) if amount is not None]
    return min(bounds, default=None)
