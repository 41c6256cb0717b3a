"""How a step ended, as its own manifest tells; where it could record nothing, its answer and status must do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core.files import open_regular, read_json_object
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS
from obo_bench.launch.campaign.resolving import CEILING, Step

DIED = "died"
"""The outcome of a step that left no ending: killed, or the power failed."""
NOTHING_RECORDED = "usage_error"
"""The outcome of one that had nothing to record, such as a wrong option."""
STOPPED_FOR_PROVENANCE = "stopped_provenance"
_LARGEST_ANSWER = 16 << 20


@dataclass(frozen=True)
class StepEnd:
    """The ending of one start of a step."""

    outcome: str
    """Its typed outcome, or one of the two above."""
    exit_code: int | None
    """Its exit status; null where nobody saw it."""
    refusal: Mapping[str, Any] = field(default_factory=dict)
    """Its refusal as it recorded it; empty without one."""
    cost_usd: float | None = None
    """What all of the step's work has cost, as far as known; null where nothing tells."""
    cost_is_lower_bound: bool = False
    """Whether it may have cost more."""
    ceiling_usd: float | None = None
    """The ceiling that this start was told, in USD; null without one."""
    invocation: str = ""
    """The invocation that ended so; empty where it recorded nothing."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Instances by what became of them, as far as it says."""

    @property
    def reason(self) -> str:
        """The reason of its refusal, empty without one."""
        return str(self.refusal.get("reason") or "")

    @property
    def is_fatal(self) -> bool:
        """Whether going on is pointless for every remaining step."""
        return self.outcome == STOPPED_FOR_PROVENANCE or self.reason in CAMPAIGN_FATAL_PROVENANCE_REASONS

    @property
    def never_began(self) -> bool:
        """Whether this start was refused, or not understood, before anything could be spent."""
        return self.outcome in ("refused", NOTHING_RECORDED) and self.cost_usd == 0

    def code(self) -> str:
        """Return the one word for it: the reason of a refusal, else the outcome."""
        return self.reason if self.outcome == "refused" and self.reason else self.outcome


def recorded_invocation(step: Step) -> str:
    """Return the invocation of the manifest that is in a step's root now, empty when there is none."""
    return str((read_json_object(step.manifest) or {}).get("invocation") or "")


def left_running(step: Step) -> list[dict[str, str]]:
    """Return the tasks that may still run and spend, as a step's manifest names them, each with the run it is of."""
    extra = _mapping((read_json_object(step.manifest) or {}).get("extra"))
    tasks = extra.get("still_running")
    found = [task for task in tasks if isinstance(task, Mapping)] if isinstance(tasks, list) else []
    return [{**{str(name): str(value) for name, value in task.items()}, "run_root": str(step.root)} for task in found]


def recorded_end(step: Step, before: str) -> StepEnd | None:
    """Return the ending that the step's own process recorded since `before` was its manifest's invocation.

    None where there is none: no new manifest, one without an ending, or one of another command line.
    """
    manifest = read_json_object(step.manifest)
    if manifest is None or manifest.get("invocation") in ("", None, before) or not _is_of(step, manifest):
        return None
    extra = _mapping(manifest.get("extra"))
    if not isinstance(extra.get("exit_code"), int):
        return None
    return _end(extra, str(manifest["invocation"]))


def end_of_child(step: Step, before: str, status: int, answer: Path) -> StepEnd:
    """Return how a process ended that was waited for; `status` is its status as a shell has it."""
    recorded = recorded_end(step, before)
    if recorded is not None and recorded.exit_code == status:
        return recorded
    told = _answer(answer)
    refusal = _mapping(told.get("refusal"))
    if told.get("exit_code") == status and told.get("outcome"):
        outcome = str(told["outcome"])
        return StepEnd(outcome, status, refusal, 0.0 if outcome in ("refused", NOTHING_RECORDED) else None)
    return StepEnd(NOTHING_RECORDED, status, cost_usd=0.0) if status == 2 else StepEnd(DIED, status)


def _is_of(step: Step, manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is of this step's command line; the ceiling may differ, and how much it was to tell."""
    from obo_bench.core.redact import process_redactor

    argv = manifest.get("argv")
    if not isinstance(argv, list):
        return False
    return _compared(map(str, argv[1:])) == _compared(process_redactor().document(step.arguments()))


def _compared(words: Any) -> list[str]:
    words = list(words)
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if not word.startswith(f"{CEILING}=") and word != "--quiet"]
    return [*kept, *words[end:]]


def _end(extra: Mapping[str, Any], invocation: str) -> StepEnd:
    cost = _mapping(extra.get("cost"))
    amount = next((cost[name] for name in ("known_usd", "usd", "cost_usd") if _is_amount(cost.get(name))), None)
    if extra.get("outcome") == "refused" and not cost:
        amount = 0.0  # a refusal by a gate: what costs had not begun
    names = ("completed", "failed", "skipped", "not_attempted", "degraded")
    return StepEnd(
        outcome=str(extra.get("outcome")),
        exit_code=int(extra["exit_code"]),
        refusal=_mapping(extra.get("refusal")),
        cost_usd=amount,
        cost_is_lower_bound=bool(cost.get("lower_bound")),
        invocation=invocation,
        counts={name: number for name in names if isinstance(number := extra.get(f"{name}_count"), int)},
    )


def _answer(path: Path) -> Mapping[str, Any]:
    """Return the `--json` answer on a step's stdout; a launcher may have written anything there."""
    try:
        with open_regular(path) as stream:
            stream.seek(max(0, path.stat().st_size - _LARGEST_ANSWER))
            lines = stream.read(_LARGEST_ANSWER).splitlines()
        return _mapping(json.loads(lines[-1])) if lines else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
