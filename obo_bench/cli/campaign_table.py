"""A campaign for people: its plan before it is paid for, and how it stands."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from obo_bench.cli.status_text import duration
from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.launch.campaign.shown_plan import CampaignPlan, PlannedStep
    from obo_bench.launch.campaign.status import CampaignStatus, StepStatus

_STATUS_HEAD = ("STEP", "KIND", "STATE", "OUTCOME", "EXIT", "STARTS", "COST", "TOOK", "A RESUME")
_RESUME = {"decide": "decides by what it needs", "wait": "waits for it", "again": "starts it again"}
_MOST_IDS = 5


def plan_lines(plan: "CampaignPlan") -> list[str]:
    """Return the plan in lines; what is foreign in it is printable."""
    lines = [f"campaign {plan.campaign}: {len(plan.steps)} step(s), run in {plan.directory}"]
    for number, step in enumerate(plan.steps, 1):
        lines += [f"{number}. {step.id} ({step.kind}): {_start(step)}", *_details(step)]
    ceiling = "no ceiling" if plan.max_cost_usd is None else f"ceiling {plan.max_cost_usd:g} USD"
    worst = "unbounded" if plan.worst_case_usd is None else f"{plan.worst_case_usd:g} USD"
    return [printable(line) for line in (*lines, f"worst case: {worst} ({ceiling})")]


def status_lines(found: "CampaignStatus") -> list[str]:
    """Return how a campaign stands in lines."""
    ended = "at work" if found.alive else found.outcome
    status = "" if found.exit_code is None or found.alive else f" (exit status {found.exit_code})"
    lines = [f"campaign {found.campaign}: {ended}{status}"]
    if found.outcome == "started" and not found.alive:
        lines = [f"campaign {found.campaign}: killed, it died without an ending"]
    if found.detail and not found.alive:
        lines.append(f"  {found.detail}")
    ceiling = "" if found.max_cost_usd is None else f" of {found.max_cost_usd:g}"
    lines += [*_table([_STATUS_HEAD, *map(_cells, found.steps)]), f"cost: {found.cost_usd:.4f}{ceiling} USD"]
    if found.file_changed:
        lines.append(f"{found.file} has changed since: a resume takes new ceilings only")
    lines += [f"  {step.id}: {step.reason}" for step in found.steps if step.reason]
    return [printable(line) for line in lines]


def _start(step: "PlannedStep") -> str:
    return f"when {', '.join(step.needs)} ended as {' or '.join(step.on)}" if step.needs else "in its turn"


def _details(step: "PlannedStep") -> Iterator[str]:
    yield f"     {step.command}"
    yield f"     writes {step.run_root}"
    if step.spends:
        cost = "unbounded" if step.max_cost_usd is None else f"at most {step.max_cost_usd:g} USD"
        yield f"     costs {cost}"
    if step.task_ids is not None:
        more = f", ... {len(step.task_ids) - _MOST_IDS} more" if len(step.task_ids) > _MOST_IDS else ""
        yield f"     {len(step.task_ids)} task(s): {', '.join(step.task_ids[:_MOST_IDS])}{more}"


def _cells(step: "StepStatus") -> tuple[str, ...]:
    cost = "-" if step.cost_usd is None else f"{'>=' if step.cost_is_lower_bound else ''}{step.cost_usd:.4f}"
    took = "-" if step.duration_sec is None else duration(step.duration_sec)
    return (
        step.id,
        step.kind,
        str(step.state),
        step.outcome or "-",
        "-" if step.exit_code is None else str(step.exit_code),
        str(step.starts),
        cost,
        took,
        _RESUME.get(str(step.a_resume), f"{step.a_resume}s it"),
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
