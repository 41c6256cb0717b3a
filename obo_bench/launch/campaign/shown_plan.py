"""What a campaign would do, without doing it (wire format of `campaign check`, and of `--dry-run`)."""

import shlex
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import WireModel
from obo_bench.launch.campaign.command_lines import CommandLines
from obo_bench.launch.campaign.money import worst_case_usd
from obo_bench.launch.campaign.resolving import PLACEHOLDER, Frame, Step


class PlannedStep(WireModel):
    """One step."""

    id: str
    """Its name."""
    kind: str
    """What it does."""
    command: str
    """Its command line, as it could be typed."""
    run_root: str
    """Where it writes; empty where nobody has said where runs are kept."""
    needs: list[str]
    """Steps that must have ended before."""
    on: list[str]
    """How they must have ended."""
    spends: bool
    """Whether it can cost money."""
    max_cost_usd: float | None
    """What a start of it can cost at most, in USD; null when nothing of its own bounds it."""
    retries: int
    """How often it may be repeated when the infrastructure broke it."""
    task_ids: list[str] | None = None
    """The instances it asks for; null where that was not looked up, or is not known beforehand."""


class CampaignPlan(WireModel):
    """The whole plan."""

    schema_: Literal["obo_bench.campaign_plan.v1"] = Field("obo_bench.campaign_plan.v1", alias="schema")
    """Format name."""
    campaign: str
    """The campaign's id."""
    directory: str
    """Where the steps run: the directory of the campaign file."""
    steps: list[PlannedStep]
    """The steps, in their order."""
    max_cost_usd: float | None
    """The ceiling of the campaign, in USD; null without one."""
    worst_case_usd: float | None
    """What it can cost at most, in USD; null when nothing bounds it."""


def campaign_plan(
    steps: Sequence[Step], frame: Frame, ceiling_usd: float | None, lines: CommandLines | None = None
) -> CampaignPlan:
    """Return the plan; with `lines` the tasks of each step are looked up, which may refuse."""
    return CampaignPlan(
        campaign=frame.campaign_id,
        directory=str(frame.directory),
        steps=[_planned(step, frame, lines) for step in steps],
        max_cost_usd=ceiling_usd,
        worst_case_usd=worst_case_usd(steps, ceiling_usd),
    )


def _planned(step: Step, frame: Frame, lines: CommandLines | None) -> PlannedStep:
    table = step.table
    made = any(PLACEHOLDER.search(str(value)) for value in table.options.values())
    return PlannedStep(
        id=step.id,
        kind=table.kind,
        command=shlex.join(["obo-bench", *step.arguments(table.max_cost_usd)]),
        run_root=str(step.root) if frame.runs_known or not step.root.is_relative_to(frame.runs_root) else "",
        needs=list(table.needs),
        on=list(table.on),
        spends=step.kind.spends,
        max_cost_usd=table.max_cost_usd if step.kind.spends else 0.0,
        retries=step.retries,
        task_ids=lines.task_ids(table.kind, table.options, frame.directory) if lines and not made else None,
    )
