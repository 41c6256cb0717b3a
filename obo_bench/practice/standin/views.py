"""What the server tells about itself: health, state and settings, in the recorded shapes."""

from collections.abc import Iterable, Mapping
from typing import Any

from obo_bench.practice.standin.config import StandInConfig

BUDGET_USD = 10.0
"""The pretended `TOTAL_BUDGET`."""

_MODEL_SLOTS = (
    "OUROBOROS_MODEL", "OUROBOROS_MODEL_HEAVY", "OUROBOROS_MODEL_LIGHT", "OUROBOROS_MODEL_VISION",
    "OUROBOROS_MODEL_CONSCIOUSNESS", "OUROBOROS_MODEL_FALLBACKS", "OUROBOROS_MODEL_DEEP_SELF_REVIEW",
    "OUROBOROS_WEBSEARCH_MODEL", "OUROBOROS_SCOPE_REVIEW_MODELS", "OUROBOROS_SCOPE_REVIEW_MODEL",
)  # fmt: skip
_UNSET = (
    "OPENROUTER_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CLOUDRU_FOUNDATION_MODELS_API_KEY",
    "GIGACHAT_CREDENTIALS", "GIGACHAT_USER", "GIGACHAT_PASSWORD", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GITHUB_REPO",
    "LOCAL_MODEL_SOURCE", "OUROBOROS_OR_PROVIDER",
)  # fmt: skip
_FIXED: Mapping[str, Any] = {
    "OPENAI_COMPATIBLE_API_KEY": "practice...",
    "OPENAI_COMPATIBLE_BASE_URL": "http://practice.invalid/v1",
    "CLAUDE_CODE_MODEL": "",
    "TOTAL_BUDGET": BUDGET_USD,
    "OUROBOROS_PER_TASK_COST_USD": 20.0,
    "OUROBOROS_MAX_ROUNDS": 1000,
    "OUROBOROS_TASK_ABS_CEILING_SEC": 21600,
    "OUROBOROS_TASK_IDLE_TIMEOUT_SEC": 900,
    "OUROBOROS_FINALIZATION_GRACE_SEC": 120,
    "OUROBOROS_TOOL_TIMEOUT_SEC": 600,
    "OUROBOROS_TASK_REVIEW_MODE": "auto",
    "OUROBOROS_REVIEW_ENFORCEMENT": "blocking",
    "OUROBOROS_RUNTIME_MODE": "pro",
    "OUROBOROS_CONTEXT_MODE": "low",
    "OUROBOROS_SAFETY_MODE": "light",
    "OUROBOROS_POST_TASK_EVOLUTION": "false",
    "OUROBOROS_EFFORT_TASK": "high",
    "OUROBOROS_EFFORT_REVIEW": "medium",
    "USE_LOCAL_MAIN": False,
}


_CONSCIOUSNESS: Mapping[str, Any] = {
    "enabled": False, "status": "disabled", "detail": "Background consciousness is off.", "running": False,
    "paused": False, "next_wakeup_sec": 300, "last_cycle_started_at": "", "last_cycle_finished_at": "",
    "last_idle_reason": "stopped", "last_error": "",
}  # fmt: skip


def health(version: str) -> dict[str, Any]:
    """Return the answer of `/api/health`: identity, never readiness."""
    return {"status": "ok", "version": version, "runtime_version": version, "app_version": version}


def settings(config: StandInConfig, port: int) -> dict[str, Any]:
    """Return the answer of `/api/settings`."""
    loopback = config.host in ("127.0.0.1", "localhost", "::1")
    return {
        **dict.fromkeys(_UNSET, ""),
        **_FIXED,
        **dict.fromkeys(_MODEL_SLOTS, config.model),
        "OUROBOROS_REVIEW_MODELS": ",".join([config.model] * 3),
        "OUROBOROS_MAX_WORKERS": config.workers,
        "OUROBOROS_NETWORK_PASSWORD": "***set***" if config.network_password else "",
        "OUROBOROS_SERVER_HOST": config.host,
        "_meta": {
            "bind_host": config.host,
            "bind_port": port,
            "lan_ip": "",
            "reachability": "loopback_only" if loopback else "lan",
            "recommended_url": "",
            "warning": "Practice: a stand-in gateway with a scripted solver. Its scores mean nothing.",
            "custom_secret_keys": [],
            "setup_contract": {},
        },
    }


def state(
    ready: bool,
    queue: Mapping[str, Any],
    records: Iterable[Mapping[str, Any]],
    *,
    paused: bool,
    uptime: float,
    sha: str,
) -> dict[str, Any]:
    """Return the answer of `/api/state`; `paused` means that the pretended budget is spent, `uptime` is seconds."""
    tasks = list(records)
    spent = BUDGET_USD if paused else round(sum(float(task.get("cost_usd") or 0) for task in tasks), 4)
    calls = sum(int(task.get("total_rounds") or 0) for task in tasks)
    unknown = sum(int(task.get("unknown_unmetered") or 0) for task in tasks)
    workers = queue["worker_total"]
    return {
        "uptime": int(uptime),
        "workers_alive": workers,
        "workers_total": workers,
        "pending_count": queue["pending_count"],
        "running_count": queue["running_count"],
        "spent_usd": spent,
        "budget_limit": BUDGET_USD,
        "budget_pct": round(100 * spent / BUDGET_USD, 1),
        "branch": None,
        "sha": sha,
        "evolution_enabled": False,
        "bg_consciousness_enabled": False,
        "evolution_cycle": 0,
        "evolution_state": _evolution(spent, queue),
        "bg_consciousness_state": dict(_CONSCIOUSNESS),
        "spent_calls": calls,
        "supervisor_ready": ready,
        "supervisor_error": None,
        "runtime_mode": "pro",
        "context_mode": "low",
        "safety_mode": "light",
        "skills_repo_configured": False,
        "github_token_configured": False,
        "accounting": _accounting(spent, calls, unknown),
        "projects": [],
        "project_chat_ids": [],
        "task_bindings": {},
        "stand_in": True,
    }  # fmt: skip


def _evolution(spent: float, queue: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "enabled": False, "status": "disabled", "detail": "Evolution mode is off.", "campaign": {}, "cycle": 0,
        "owner_chat_bound": False, "last_task_at": "", "consecutive_failures": 0,
        "cost_accounting_status": "available", "budget_remaining_usd": round(BUDGET_USD - spent, 4),
        "budget_reserve_usd": 2.0, "pending_count": queue["pending_count"], "running_count": queue["running_count"],
        "queued_task_id": "", "running_task_id": "",
    }  # fmt: skip


def _accounting(spent: float, calls: int, unknown: int) -> dict[str, Any]:
    return {
        "available": True, "authority": "physical_attempt_ledger", "settled_usd": spent, "confirmed_usd": spent,
        "estimated_usd": 0.0, "reserved_usd": 0.0, "unresolved_upper_bound_usd": 0.0, "accounted_usd": spent,
        "unknown_unmetered": unknown, "cost_final": False, "integrity_degraded": False,
        "attempt_counts": {"settled": calls, "unresolved": 0}, "limit_usd": BUDGET_USD,
        "remaining_known_usd": round(BUDGET_USD - spent, 4),
    }  # fmt: skip
