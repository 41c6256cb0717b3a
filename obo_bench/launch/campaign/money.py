"""What a campaign has spent and may still spend: an unknown cost counts with what the step was allowed, never as 0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from obo_bench.launch.campaign.resolving import Step
from obo_bench.launch.campaign.step_end import StepEnd

RAISE = "raise --max-cost-usd of `campaign resume`"
"""What to do where the campaign's ceiling stands in the way."""
_BOUND = "write into the file, as max_cost_usd of that step, what it can have cost at most"


@dataclass(frozen=True)
class Spent:
    """What one step has cost, over all of its starts."""

    known_usd: float | None
    """What is known of it, in USD; None where nothing is."""
    is_lower_bound: bool
    """Whether it may have cost more."""
    at_most_usd: float | None
    """What it counts with against the campaign's ceiling, in USD; None when it is unknown and nothing bounds it."""


@dataclass(frozen=True)
class Allowance:
    """What a step may cost, or why it may not start."""

    ceiling_usd: float | None
    """What the step is told, in USD; null when nothing bounds it."""
    why_not: str = ""
    """Why it must not start; empty when it may."""
    remedy: str = ""
    """What to do then."""
    needed_usd: float | None = None
    """The campaign's ceiling, in USD, with which it might start; null where that is not known."""


def spent_by(step: Step, ends: Sequence[StepEnd]) -> Spent:
    """Return what a step has cost, by the endings of its starts, oldest first; no start, no cost."""
    if not step.kind.spends:
        return Spent(None, is_lower_bound=False, at_most_usd=0.0)
    begun = [end for end in ends if not end.never_began]
    counted = begun if step.kind.each_start_costs else begun[-1:]
    known = [end.cost_usd for end in counted if end.cost_usd is not None]
    charges = [charge for end in counted if (charge := _charge(end, step.table.max_cost_usd)) is not None]
    return Spent(
        known_usd=sum(known) if known or (ends and not begun) else None,
        is_lower_bound=any(end.cost_usd is None or end.cost_is_lower_bound for end in counted),
        at_most_usd=sum(charges) if len(charges) == len(counted) else None,
    )


def _charge(end: StepEnd, own_usd: float | None) -> float | None:
    """Return what one start counts with: its cost; where that is not known, the ceiling that it was told."""
    if end.cost_usd is not None and not end.cost_is_lower_bound:
        return end.cost_usd
    bound = own_usd if end.ceiling_usd is None else end.ceiling_usd
    return None if bound is None else max(bound, end.cost_usd or 0.0)


def allowance(step: Step, spent: Mapping[str, Spent], ceiling_usd: float | None) -> Allowance:
    """Return what a step may cost, so that even at its worst the campaign's ceiling is kept; `spent` is by step."""
    own = step.table.max_cost_usd
    if ceiling_usd is None or not step.kind.spends:
        return Allowance(own)
    # The ceiling of a run counts all of its own work, whenever that was done.
    counted = {name: each for name, each in spent.items() if name != step.id or step.kind.each_start_costs}
    unbounded = [name for name, each in counted.items() if each.at_most_usd is None]
    if unbounded:
        told = f"what step {unbounded[0]} has cost is not known, and no ceiling bounds it"
        return Allowance(own, told, _BOUND)
    others = sum(each.at_most_usd or 0.0 for each in counted.values())
    left, doubt = ceiling_usd - others, _doubt(counted)
    needed = None if own is None else round(others + own, 4)
    if left <= 0:
        told = f"the steps have cost {others:.4f} USD, the campaign's ceiling is {ceiling_usd:g}{doubt}"
        return Allowance(own, told, RAISE, needed)
    if own is not None and own > left:
        told = f"it may cost up to {own:g} USD, and of the campaign's {ceiling_usd:g} there are {left:.4f} left{doubt}"
        return Allowance(own, told, RAISE, needed)
    return Allowance(left if own is None else own)


def _doubt(spent: Mapping[str, Spent]) -> str:
    """Return which steps count with more than is known of them, for the end of a sentence."""
    names = [name for name, each in spent.items() if each.is_lower_bound]
    return f" (the cost of {', '.join(names)} is not known: it counts with what it was allowed)" if names else ""


def total_usd(spent: Iterable[Spent]) -> float:
    """Return what is known of all costs, in USD."""
    return round(sum(each.known_usd or 0.0 for each in spent), 6)


def unknown_steps(spent: Iterable[Spent]) -> int:
    """Return how many steps may have cost more than is known."""
    return sum(each.is_lower_bound for each in spent)


def worst_case_usd(steps: Sequence[Step], ceiling_usd: float | None) -> float | None:
    """Return what a campaign can cost at most, in USD; None when nothing bounds it."""
    ceilings = [_worst_usd(step) for step in steps if step.kind.spends]
    known = [amount for amount in ceilings if amount is not None]
    total = sum(known) if len(known) == len(ceilings) else None
    bounds = [amount for amount in (total, ceiling_usd) if amount is not None]
    return min(bounds, default=None)


def _worst_usd(step: Step) -> float | None:
    own = step.table.max_cost_usd
    return own * (1 + step.retries) if own is not None and step.kind.each_start_costs else own
