"""How a campaign stands, from its files alone, and what a resume would do (wire format of `campaign status`)."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.files import read_json_object
from obo_bench.core.ledger_row import Row
from obo_bench.core.lock import living_owner
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.launch.campaign import step_states
from obo_bench.launch.campaign.money import Spent, spent_by, total_usd, unknown_steps
from obo_bench.launch.campaign.plan import Plan
from obo_bench.launch.campaign.plan_file import parse_plan, read_bytes
from obo_bench.launch.campaign.record import COPY_NAME, CampaignRecord, read_record
from obo_bench.launch.campaign.resolving import Frame, Step, resolve
from obo_bench.launch.campaign.retrying import is_done
from obo_bench.launch.campaign.step_child import at_work
from obo_bench.launch.campaign.step_end import StepEnd, left_running

State = Literal["waiting", "running", "ended", "died", "not_started"]
Resume = Literal["skip", "start", "again", "wait", "decide"]


class StepStatus(WireModel):
    """One step."""

    id: str
    """Its name."""
    kind: str
    """What it does."""
    state: State | LaterWord
    """waiting (not come to), running, ended, died (it left no ending), or not_started (its turn came, but it could
    not)."""
    outcome: str | None = None
    """How it ended last; null when it never did."""
    reason: str = ""
    """Why: the reason of its refusal, or why it was not started."""
    exit_code: int | None = None
    """Its exit status."""
    starts: int = 0
    """How often it was started."""
    cost_usd: float | None = None
    """What it has cost, in USD; null where nothing tells."""
    cost_is_lower_bound: bool = False
    """Whether it may have cost more."""
    duration_sec: float | None = None
    """How long its last start took; for a running one, since it was started."""
    run_root: str = ""
    """Where it writes."""
    a_resume: Resume | LaterWord = "start"
    """What a resume does: skip it, start it, start it again, wait for its process, or decide by what it needs."""


class CampaignStatus(WireModel):
    """The whole answer."""

    schema_: Literal["obo_bench.campaign_status.v1"] = Field("obo_bench.campaign_status.v1", alias="schema")
    """Format name."""
    campaign: str
    """The campaign's id."""
    run_root: str
    """Its directory."""
    alive: bool
    """Whether a process drives it."""
    outcome: str
    """Its recorded outcome; `started` while it runs, and after a kill."""
    exit_code: int | None
    """Its recorded exit status; null likewise."""
    detail: str = ""
    """Why it stopped or paused; empty otherwise."""
    file: str
    """The campaign file."""
    file_changed: bool | None
    """Whether that file is another by now; null when it is gone: then the copy counts."""
    max_cost_usd: float | None
    """The ceiling of the campaign, in USD; null without one."""
    cost_usd: float
    """What the steps have cost, as far as known, in USD."""
    cost_is_lower_bound: bool = False
    """Whether they may have cost more."""
    unknown_costs: int = 0
    """How many steps may have cost more than is known of them."""
    still_running: list[dict[str, str]] = Field(default_factory=list)
    """Tasks that may still run and spend although no process of the campaign lives: instance_id, task_id, container and
    run_root of each."""
    steps: list[StepStatus]
    """The steps, in their order."""


def read_status(root: Path) -> CampaignStatus:
    """Return how a campaign stands; raises PreflightRefused `run_not_found`, `campaign_invalid` for damaged files."""
    record = read_record(root)
    if record is None:
        raise PreflightRefused(
            "run_not_found",
            f"there is no campaign in {str(root)!r}",
            evidence={"run_root": str(root)},
            remedy="name a campaign's id or directory; without one, `campaign status` shows the latest",
        )
    plan = parse_plan(root / COPY_NAME, read_bytes(root / COPY_NAME))
    manifest = read_json_object(root / MANIFEST_NAME) or {}
    extra: Mapping[str, Any] = manifest.get("extra") or {}
    stepping = _resolved(root, plan, record)
    endings = step_states.endings(root)
    spent = {step.id: spent_by(step, endings.get(step.id, [])) for step in stepping}
    alive = _is_alive(root)
    at_rest = not alive and not any(at_work(step, root) for step in stepping)
    return CampaignStatus(
        campaign=root.name,
        run_root=str(root),
        alive=alive,
        still_running=[task for step in stepping if step.kind.spends for task in left_running(step)] if at_rest else [],
        outcome=str(extra.get("outcome") or "started"),
        exit_code=extra.get("exit_code"),
        detail=str((manifest.get("harness") or {}).get("stopped") or ""),
        file=record.file,
        file_changed=_changed(record),
        max_cost_usd=plan.campaign.max_cost_usd if record.max_cost_usd is None else record.max_cost_usd,
        cost_usd=total_usd(spent.values()),
        cost_is_lower_bound=unknown_steps(spent.values()) > 0,
        unknown_costs=unknown_steps(spent.values()),
        steps=_steps(root, stepping, spent),
    )


def _resolved(root: Path, plan: Plan, record: CampaignRecord) -> list[Step]:
    return resolve(plan, Frame(root.name, Path(record.runs_root), Path(record.file).parent, record.shared))[0]


def _steps(root: Path, steps: Sequence[Step], spent: Mapping[str, Spent]) -> list[StepStatus]:
    rows, ends, starts = step_states.states(root), step_states.last_ends(root), step_states.starts(root)
    now = time.time()  # another process began the step: its monotonic clock is not known here, and this is for show
    return [
        _status(root, step, rows.get(step.id), ends.get(step.id), starts.get(step.id, 0), now).model_copy(
            update={
                "cost_usd": spent[step.id].known_usd,
                "cost_is_lower_bound": spent[step.id].is_lower_bound,
            }
        )
        for step in steps
    ]


def _status(root: Path, step: Step, row: Row | None, end: StepEnd | None, starts: int, now: float) -> StepStatus:
    state = _state(root, step, row)
    return StepStatus(
        id=step.id,
        kind=step.table.kind,
        state=state,
        starts=starts,
        run_root=str(step.root),
        a_resume=_resume(step, state, end),
        reason=(end.reason if end else "") or (row.error if row and state == "not_started" else ""),
        duration_sec=_duration_sec(state, row, now),
        **({"outcome": end.outcome, "exit_code": end.exit_code} if end is not None else {}),
    )


def _duration_sec(state: State, row: Row | None, now: float) -> float | None:
    if row is None:
        return None
    return round(max(0.0, now - row.ts_unix), 3) if state == "running" else row.durations.get("step")


def _state(root: Path, step: Step, row: Row | None) -> State:
    if row is None:
        return "waiting"
    if row.reason_code == step_states.STARTED:
        return "running" if at_work(step, root) else "died"
    return "ended" if step_states.end_of_row(row) is not None else "not_started"


def _resume(step: Step, state: State, end: StepEnd | None) -> Resume:
    if state == "running":
        return "wait"
    if state == "ended" and end is not None:
        return "skip" if is_done(step, end) else "again"
    if state == "died":
        return "again"
    return "decide" if step.table.needs else "start"


def _is_alive(root: Path) -> bool:
    try:
        return living_owner(root) is not None
    except OSError:
        return False


def _changed(record: CampaignRecord) -> bool | None:
    file = Path(record.file)
    if not file.exists():
        return None
    return hashlib.sha256(read_bytes(file)).hexdigest() != record.sha256
