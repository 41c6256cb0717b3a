"""The budget gate: `--min-budget-usd` against what the OpenRouter key may still spend, before anything is spent."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.gateway.admission.settings import SettingsFile
from obo_bench.gateway.openrouter import (
    KEY_NAME,
    BalanceUnreadable,
    openrouter_account_balance,
    openrouter_key_remaining,
)


@dataclass(frozen=True)
class Budget:
    """What can still be spent (`harness.budget` of the manifest); amounts are USD."""

    remaining_usd: float | None
    """What the key may still spend; null when it has no limit of its own."""
    uncapped: bool
    """Whether it has none."""
    balance_usd: float | None
    """The account's balance; null when it could not be read."""
    balance_error: str | None
    """Why not."""
    required_usd: float
    """What was asked for."""
    source: str
    """Where the key was found: settings or environment."""

    @property
    def spendable_usd(self) -> float | None:
        """The lower bound of both that are known; None when none is."""
        return min((amount for amount in (self.remaining_usd, self.balance_usd) if amount is not None), default=None)


def require_budget(session: Session, required_usd: float, settings: SettingsFile, reporter: Reporter) -> None:
    """Refuse unless `required_usd` can still be spent.

    Raises PreflightRefused `budget_insufficient`, or `budget_unreadable` when there is no usable key. A key without
    a limit on an account whose balance cannot be read is let through, and the record says that nothing bounds it.
    """
    budget = read_budget(required_usd, settings, os.environ)
    session.manifest.harness["budget"] = asdict(budget)
    if budget.balance_error:
        reporter.event(f"the balance of the OpenRouter account cannot be read: {budget.balance_error}")
    if budget.spendable_usd is None:
        reporter.event("the OpenRouter key has no limit of its own: nothing known bounds what the run can spend")
    elif budget.spendable_usd < required_usd:
        raise PreflightRefused(
            "budget_insufficient",
            f"{budget.spendable_usd:.2f} USD can still be spent with the OpenRouter key, "
            f"--min-budget-usd asks for {required_usd:.2f}",
            evidence=asdict(budget),
        )


def read_budget(required_usd: float, settings: SettingsFile, environ: Mapping[str, str]) -> Budget:
    """Ask OpenRouter; raises PreflightRefused `budget_unreadable`."""
    key, source = _key(settings, environ)
    process_redactor().learn([key])
    remaining = openrouter_key_remaining(key, environ=environ)
    balance, trouble = None, None
    try:
        balance = openrouter_account_balance(key, environ=environ)
    except BalanceUnreadable as error:
        trouble = str(error)
    return Budget(remaining, remaining is None, balance, trouble, required_usd, source)


def _key(settings: SettingsFile, environ: Mapping[str, str]) -> tuple[str, str]:
    if in_file := settings.text(KEY_NAME):
        return in_file, "settings"
    if in_environment := environ.get(KEY_NAME, "").strip():
        return in_environment, "environment"
    raise PreflightRefused(
        "budget_unreadable",
        f"--min-budget-usd needs a key: {KEY_NAME} is neither in the settings nor the environment",
        evidence={"settings_path": str(settings.path), "settings_present": settings.present},
    )
