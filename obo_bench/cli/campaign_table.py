"""A campaign for people: its plan before it is paid for, and how it stands."""

import shlex
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
_RUNS_UNKNOWN = "below the runs root, which is not known: give --repo-dir or --runs-root"


def plan_lines(plan: "CampaignPlan") -> list[str]:
    """Return the plan in lines; what is foreign in it is printable."""
    lines = [f"campaign {plan.campaign}: {len(plan.steps)} step(s), run in {plan.directory}"]
    for number, step in enumerate(plan.steps, 1):
        lines += [
            f"{number}. {step.id} ({step.kind}): {_start(step)}",
            *_details(step, has_ceiling=plan.max_cost_usd is not None),
        ]
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
    unknown = f" (unknown for {found.unknown_costs} step(s))" if found.unknown_costs else ""
    cost = f"cost: {'>=' if found.cost_is_lower_bound else ''}{found.cost_usd:.4f}{ceiling} USD{unknown}"
    lines += [*_table([_STATUS_HEAD, *map(_cells, found.steps)]), cost]
    if found.file_changed:
        lines.append(f"{found.file} has changed since: a resume takes new ceilings only")
    if found.file_changed is None:
        lines.append(f"{found.file} is gone: a resume uses the copy of it")
    lines += [f"  {step.id}: {step.reason}" for step in found.steps if step.reason]
    lines += _running(found)
    return [printable(line) for line in lines]


def _running(found: "CampaignStatus") -> Iterator[str]:
    tasks = found.still_running
    if not tasks:
        return
    yield f"{len(tasks)} task(s) may still run and spend money:"
    for task in tasks[:_MOST_IDS]:
        yield f"  {task.get('task_id')}  ({task.get('instance_id')}, container {task.get('container')})"
    if len(tasks) > _MOST_IDS:
        yield f"  and {len(tasks) - _MOST_IDS} more; the manifest names them all"
    yield f"  to go on with them: {shlex.join(['obo-bench', 'campaign', 'resume', found.run_root])}"


def _start(step: "PlannedStep") -> str:
    return f"when {', '.join(step.needs)} ended as {' or '.join(step.on)}" if step.needs else "in its turn"


def _cost(step: "PlannedStep", *, has_ceiling: bool) -> str:
    if step.max_cost_usd is None:
        return "what is left then; all of that, if it does not tell its cost" if has_ceiling else "unbounded"
    repeated = f", at each of {step.retries + 1} starts" if step.kind == "exec" and step.retries else ""
    return f"at most {step.max_cost_usd:g} USD{repeated}"


def _details(step: "PlannedStep", *, has_ceiling: bool) -> Iterator[str]:
    yield f"     {step.command}"
    yield f"     writes {step.run_root or _RUNS_UNKNOWN}"
    if step.spends:
        yield f"     costs {_cost(step, has_ceiling=has_ceiling)}"
    if step.task_ids is not None:
        more = f", ... {len(step.task_ids) - _MOST_IDS} more" if len(step.task_ids) > _MOST_IDS else ""
        yield f"     {len(step.task_ids)} task(s): {', '.join(step.task_ids[:_MOST_IDS])}{more}"


def _cells(step: "StepStatus") -> tuple[str, ...]:
    amount = "-" if step.cost_usd is None else f"{step.cost_usd:.4f}"
    cost = f">={amount}" if step.cost_usd is not None and step.cost_is_lower_bound else amount
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
