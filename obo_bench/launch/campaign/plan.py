"""A campaign as its file describes it (TOML): the table [campaign] and the ordered list [[steps]]."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

KindName = Literal["attest", "run", "eval", "gate", "export", "exec"]
"""What a step can be; `kinds.KINDS` says what each one starts."""
STEP_ID = r"^[a-z0-9][a-z0-9_-]{0,39}$"
"""No dot, so that `<campaign>.<step>` names one step of one campaign."""
DEFAULT_RETRIES = 2
DEFAULT_PAUSE_SEC = 60.0

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)


class CampaignTable(BaseModel):
    """What holds for all steps."""

    model_config = _STRICT

    solve_model: str | None = Field(None, min_length=1)
    """The model that must solve; --solve-model wins."""
    max_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """What all steps together may cost, in USD; --max-cost-usd wins."""
    min_budget_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """What the OpenRouter key must still be able to spend before a step that spends, in USD."""
    retries: int = Field(DEFAULT_RETRIES, ge=0, le=100)
    """How often a step is repeated that the infrastructure broke, unless it says so itself."""
    retry_pause_sec: float = Field(DEFAULT_PAUSE_SEC, ge=0, le=86400, allow_inf_nan=False)
    """Seconds before that."""


class StepTable(BaseModel):
    """One step."""

    model_config = _STRICT

    id: str = Field(pattern=STEP_ID)
    """Its name; part of its run id."""
    kind: KindName
    """What it does."""
    needs: tuple[str, ...] = ()
    """Earlier steps that must have ended as `on` says."""
    on: tuple[str, ...] = ("completed",)
    """Outcomes of the needed steps that let it start."""
    max_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """What it may cost, in USD."""
    retries: int | None = Field(None, ge=0, le=100)
    """How often it is repeated when the infrastructure broke it; null takes the campaign's."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The options of its command: `slice = "0:3"` is --slice 0:3, `eval = true` is --eval."""
    command: tuple[str, ...] = ()
    """The launcher and its arguments, for `exec`."""


class Plan(BaseModel):
    """The whole file."""

    model_config = _STRICT

    campaign: CampaignTable = CampaignTable()
    """What holds for all steps."""
    steps: tuple[StepTable, ...] = Field(min_length=1)
    """The steps, in their order."""

    def without_ceilings(self) -> "Plan":
        """Return what a resume must find unchanged: everything but what may be spent."""
        nothing = {"max_cost_usd": None}
        return Plan(
            campaign=self.campaign.model_copy(update=nothing),
            steps=tuple(step.model_copy(update=nothing) for step in self.steps),
        )
